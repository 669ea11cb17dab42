// SPDX-License-Identifier: Apache-2.0
// All settings of a daemon, from all rooms.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/settings.hpp"
#include "selection/trigger/selection_files.hpp"
#include "transport/building/settings.hpp"
#include "transport/input/settings.hpp"
#include "transport/outbox/settings.hpp"

namespace l3 {

struct run_settings {
  std::uint32_t number = 1;
  std::uint32_t node = 0;
  std::string ledger = "koto-l3d-ledgers/"; ///< a folder if it ends in '/'; empty: no ledger
  std::string control;                      ///< unix socket; empty: one run as long as the daemon
  std::chrono::nanoseconds drain_time_limit = std::chrono::seconds(9);
};

/// How this daemon finds the other daemons of its farm.
struct farm_settings {
  std::vector<std::string> etcd; ///< "http://host:port"; empty: not in a farm
  std::string prefix = "/koto-l3/";
  std::string user;     ///< empty: no authentication
  std::string password; ///< file, or "credential:NAME"
};

/// Settings of histograms, if there is a selection.
struct histogram_settings {
  std::uint32_t one_in = 4;     ///< events with channel histograms; 0: no histograms
  std::uint32_t hot_above = 50; ///< per cent of waveforms with a pulse that make an input hot
  std::string reference;        ///< histogram file of a good run; empty: none
};

struct monitor_settings {
  std::string bind = "127.0.0.1"; ///< address; empty: no HTTP
  std::uint16_t port = 9420;
};

struct log_settings {
  std::string level = "info"; ///< trace, debug, info, warn, error
};

/// Where the threads run.
struct node_settings {
  std::vector<int> processors; ///< of all threads, ascending; empty: daemon/placement.hpp chooses
  std::vector<int> input = {}; ///< chosen for the threads of input and output; empty: any
};

struct daemon_settings {
  run_settings run;
  node_settings node;
  building_settings building;
  udp_settings udp;
  tcp_settings tcp;
  frame_settings frames;
  compute_settings compute;
  selection_files selection;
  histogram_settings histograms;
  outbox_settings outbox;
  spool_settings spool;
  forward_settings forward;
  farm_settings farm;
  monitor_settings monitor;
  log_settings log;
};

} // namespace l3
