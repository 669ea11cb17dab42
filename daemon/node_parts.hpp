// SPDX-License-Identifier: Apache-2.0
// The parts of a node and their threads. They are constructed from the output to the input, so that
// each part finds the next one, and destroyed in reverse order. node.cpp runs them,
// node_account.cpp logs and counts. Only these files include this one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "daemon/compute/compute_side.hpp"
#include "daemon/compute/frame_ring.hpp"
#include "daemon/compute/pipeline.hpp"
#include "daemon/compute/shedding.hpp"
#include "daemon/monitor/crate_watch.hpp"
#include "daemon/monitor/event_display.hpp"
#include "daemon/monitor/histogram_page.hpp"
#include "daemon/monitor/hot_input_watch.hpp"
#include "daemon/monitor/progress_watch.hpp"
#include "daemon/monitor/spill_list.hpp"
#include "daemon/node.hpp"
#include "daemon/spill_pause.hpp"
#include "selection/trigger/load_selection.hpp"
#include "transport/building/event_builder.hpp"
#include "transport/input/tcp_receiver.hpp"
#include "transport/input/udp_receiver.hpp"
#include "transport/outbox/forwarder.hpp"
#include "transport/outbox/outbox.hpp"
#include "transport/outbox/spilling_outbox.hpp"
#include "transport/outbox/spool_backlog.hpp"

namespace l3 {

struct node::parts {
  parts(const daemon_settings& s, std::string configuration, stop_question told_to_stop,
        std::vector<udp_socket> ports, const std::function<void()>& take_up);

  /// Waits until the receiver has stored the blocks in memory. Waits only briefly if they have
  /// copies on disk and no receiver answers.
  void wait_for_the_receiver(time_point deadline) const;

  void tell_spills(const spill_list::news& ended, const ledger& so_far);
  /// For the troubles.
  [[nodiscard]] part_states states() const;
  [[nodiscard]] named_settings names() const;

  /// The ledger without its spills.
  [[nodiscard]] ledger sums() const;
  [[nodiscard]] std::uint64_t lost_on_disk() const; ///< as node::lost_on_disk()
  [[nodiscard]] std::uint64_t blocks_gone() const;
  /// Whether the selection keeps every event and only records the decisions of the lines.
  [[nodiscard]] bool records() const;
  [[nodiscard]] std::vector<line_snapshot> line_snapshots() const;
  /// The addresses of the hot inputs.
  [[nodiscard]] std::vector<std::string> hot_inputs() const;

  daemon_settings settings;
  const time_point started_at = steady_clock::now();
  const double started = ///< s since 1970-01-01 UTC
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  daemon_state state;
  std::atomic<bool> links_end = false; // absent peers are no trouble any more
  std::atomic<bool> given_up = false;  // the rest of the outbox was counted as shed(drain)
  building_counters building;
  outcome_counters outcomes;

  spill_list spills;
  spill_lines spills_told;
  progress_watch progress;
  spill_pause pause; // for the thread of look_around()
  mutable std::mutex look_mutex;
  // As of the last look_around(), guarded by the mutex.
  std::string stuck;
  crate_watch crates{settings.building.crates};

  std::vector<memory_use> memory; // the plan
  std::optional<loaded_selection> selection;
  std::optional<shadow_menu> shadow;
  compute_side compute;
  frame_ring frames;
  safe_batches safety;
  outbox out;
  std::unique_ptr<spool> disk; // null without spool.folder
  std::unique_ptr<spool_backlog> backlog;
  std::unique_ptr<spilling_outbox> spilling;
  link_pace pace;
  forwarder fresh;              // sends the blocks in memory
  std::optional<forwarder> old; // sends the blocks on disk
  shedding sheds;
  std::optional<histogram_stream> histograms_stored; // nothing without histograms
  std::optional<hot_input_watch> hot;                // likewise
  histogram_book histograms;
  pipeline work;
  std::optional<event_display> display;           // nothing without a detector that fits
  std::optional<histogram_page> histograms_shown; // nothing without histograms
  event_builder builder;
  std::jthread forward_thread;
  std::jthread backlog_thread;
  std::optional<udp_receiver> udp;
  std::optional<tcp_receiver> tcp;

private:
  [[nodiscard]] std::vector<shedding::line> shed_lines() const;
  [[nodiscard]] bool makes_histograms() const;
  [[nodiscard]] histogram_set histograms_of_run() const;
  void begin_histograms();
  void tell_what_is_wrong_on_disk() const;
  void start_backlog();
  void watch_threads();
  void log_sequence() const;
  void engine_failed(std::string_view text);
};

} // namespace l3
