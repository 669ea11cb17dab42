// SPDX-License-Identifier: Apache-2.0
// A receiver with two daemons, one of which has not come back since its start.
#pragma once

#include "receiver/troubles.hpp"

namespace l3 {

/// Judges a snapshot by the one before it.
inline void find_troubles(receive_snapshot& s, const receive_snapshot& before) {
  trouble_board board(rows_of(receive_troubles()));
  board.look(receive_troubles(), before, s, true, time_point(), 1.7e9);
  s.troubles = board.list();
}

inline receive_snapshot sample_receive_snapshot() {
  receive_snapshot s;
  s.version = "1.2.3";
  s.commit = "521d2abbbc1a";
  s.endpoint = "tcp://0.0.0.0:42200";
  s.folder = "/data/<store>";
  s.started = 1.7e9;
  s.uptime = 12.5;
  s.memory_planned = 1'500'000'000;
  s.process = {12.5, 1.7e9 - 1, 3'000'000'000, 1'000'000'000, 5, 20, 1024};
  s.counters.messages.add(1'000);
  s.counters.blocks.add(900);
  s.counters.bytes.add(9'000'000'000'000);
  s.counters.stored_blocks.add(880);
  s.counters.stored_events.add(50'000);
  s.counters.duplicates.add(12);
  s.counters.gaps.add(5);
  s.counters.damaged.add(block_fault::payload_checksum);
  s.counters.damaged.add(block_fault::payload_checksum);
  s.counters.damaged.add(block_fault::length);
  s.counters.connections.accepted.add(4);
  s.counters.connections.let_in.add(3);
  s.stored_events = 60'000;
  s.stored_bytes = 9'500'000'000'000;
  s.sessions = 3;
  s.disk = disk_snapshot{.bytes = 100'000'000'000, .free = 40'000'000'000, .seconds_left = 7'500};
  daemon_snapshot here;
  here.node = 1;
  here.run = 77;
  here.connected = true;
  here.silent = 0.25;
  here.in_store = {900, 50'000, 9'000'000'000'000};
  here.stored = {880, 48'000, 8'800'000'000'000};
  here.events_per_second = 5'000;
  here.bytes_per_second = 400e6;
  here.lag = 0.125;
  daemon_snapshot away;
  away.node = 2;
  away.run = 76;
  away.in_store = {100, 10'000, 500'000'000'000};
  s.daemons = {here, away};
  return s;
}

/// The same of a farm: the first node has come back, a third is missing.
inline receive_snapshot farm_receive_snapshot() {
  receive_snapshot s = sample_receive_snapshot();
  daemon_snapshot& first = s.daemons.front();
  first.name = "key node<1>";
  first.state = node_state::sending;
  first.last_block = 2.5;
  first.last_event = event_key{6, 30};
  daemon_snapshot dead = first;
  dead.node = 3;
  dead.state = node_state::missing;
  dead.connected = false;
  dead.silent = 42;
  s.daemons.push_back(dead);
  s.missing = {{1, 77, event_key{2, 9}, event_key{4, 2}, 300, 9.5},
               {3, 77, event_key{5, 17}, std::nullopt, 42, std::nullopt}};
  find_troubles(s, s);
  return s;
}

} // namespace l3
