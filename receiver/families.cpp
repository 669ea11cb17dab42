// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "receiver/troubles.hpp"
#include "transport/accounting/ledger.hpp"

namespace l3 {

namespace {

namespace json = boost::json;

json::object each_daemon(const receive_snapshot& s,
                         const std::function<json::value(const daemon_snapshot&)>& read) {
  json::object o;
  for (const daemon_snapshot& d : s.daemons) o[std::to_string(d.node)] = read(d);
  return o;
}

json::value or_null(const std::optional<double>& number) {
  return number ? json::value(*number) : json::value();
}

/// Without block_fault::none.
json::object damaged(const receive_counters& c) {
  json::object o;
  for (const auto& [why, n] : counts_of(c.damaged))
    if (why != name_of(block_fault::none)) o[why] = n;
  return o;
}

json::value event_or_null(const std::optional<event_key>& event) {
  return event ? json::value(json::object{{"spill", event->spill}, {"event", event->number}})
               : json::value();
}

json::array missing_parts(const receive_snapshot& s) {
  json::array all;
  for (const missing_snapshot& m : s.missing)
    all.push_back({{"node", std::to_string(m.node)},
                   {"run", m.run},
                   {"after", event_or_null(m.after)},
                   {"before", event_or_null(m.before)},
                   {"silent_for", m.silent},
                   {"back_after", or_null(m.away)}});
  return all;
}

} // namespace

std::string receive_snapshot::state_text() const {
  const trouble* const first = troubles.headline();
  return first == nullptr ? "receiving" : first->text;
}

std::vector<family> families_of(const receive_snapshot& s) {
  using enum family::kind;
  const receive_counters& c = s.counters;
  const connection_counters& k = c.connections;
  const auto on_disk = [&](std::uint64_t disk_snapshot::*number) {
    return s.disk ? std::optional((*s.disk).*number) : std::nullopt;
  };
  std::vector<family> all{
      // The process.
      {"program", "Name of the program.", "koto-l3 receive"},
      {"version", "Version of the program.", s.version},
      {"commit", "Commit of the sources that it was built from.", s.commit},
      {"endpoint", "Address that it listens on.", s.endpoint},
      {"folder", "Folder of the store.", s.folder},
      {"uptime", "Seconds since the receiver started.", s.uptime},
      {gauge, "receive_info{version,commit}", "", "Version and commit of the program.",
       json::object{{s.version, json::object{{s.commit, 1}}}}},
      {gauge, "receive_start_time_seconds", "", "When the receiver started, since 1970-01-01 UTC.",
       s.started},
      {gauge, "receive_memory_planned_bytes", "memory_planned",
       "Upper limit of the receiver's memory, in bytes.", s.memory_planned},
      {counter, "receive_log_lines_left_out_total", "log_lines_left_out",
       "Log lines that were dropped: no program reads them, or the disk is full.",
       s.log_lines_left_out},

      // State.
      {"state.text", "The state in words.", s.state_text()},
      {"state.store_error", "Error of the system while nothing can be stored; empty without one.",
       s.store_error},
      {"state.ledger_error", "Error while the ledger cannot be written; empty without one.",
       s.ledger_error},
      {gauge, "receive_ready", "state.ready", "1 if incoming blocks are stored.", s.ready()},

      // Incoming messages.
      {counter, "receive_messages_total", "messages", "Messages of the output link.", c.messages},
      {counter, "receive_bytes_total", "bytes", "Bytes of the blocks that arrived.", c.bytes},
      {counter, "receive_blocks_total{outcome}", "blocks.{outcome}",
       "Blocks by outcome; duplicate: stored before; gap: an earlier one was missing.",
       json::object{{"stored", c.stored_blocks.get()},
                    {"duplicate", c.duplicates.get()},
                    {"gap", c.gaps.get()},
                    {"damaged", c.damaged.sum()}}},
      {counter, "receive_damaged_blocks_total{reason}", "damaged.{reason}",
       "Damaged blocks by reason.", damaged(c)},
      {counter, "receive_unknown_blocks_total", "unknown_blocks",
       "Blocks of a session that had not said hello on their connection.", c.strangers},
      {counter, "receive_events_total", "events", "Events stored.", c.stored_events},
      {counter, "receive_repeated_events_total", "repeated_events",
       "Events dropped because another session had stored them.", c.repeated_events},
      {counter, "receive_published_events_total{line}", "published.{line}",
       "Samples of stored events that were published (`--publish`), by line.", s.published},
      {counter, "receive_garbage_total", "garbage",
       "Messages that do not belong to the output link.", c.garbage},
      {counter, "receive_goodbyes_total", "goodbyes", "Daemons that ended with everything stored.",
       c.goodbyes},
      {counter, "receive_connections_accepted_total", "connections.accepted",
       "Connections that the system accepted; those without an outcome did not complete the "
       "handshake.",
       k.accepted},
      {counter, "receive_connections_total{outcome}", "connections.{outcome}",
       "Connections by outcome; unknown_key and mechanism (keys on one side only) were refused.",
       json::object{{"let_in", k.let_in.get()},
                    {"unknown_key", k.unknown_key.get()},
                    {"mechanism", k.mechanism.get()}}},

      // The store.
      {counter, "receive_store_errors_total", "store.errors",
       "Times that the store could not be written.", c.store_errors},
      {gauge, "receive_store_events", "store.events", "Events in the store.", s.stored_events},
      {gauge, "receive_store_bytes", "store.bytes", "Bytes of packed events in the store.",
       s.stored_bytes},
      {gauge, "receive_store_sessions", "store.sessions",
       "Sessions with blocks in the store; the limit is 65536.", s.sessions},
      {gauge, "receive_disk_bytes", "disk.bytes", "Size of the file system of the store.",
       on_disk(&disk_snapshot::bytes)},
      {gauge, "receive_disk_free_bytes", "disk.free",
       "Bytes that may still be written to the "
       "file system of the store.",
       on_disk(&disk_snapshot::free)},
      {gauge, "receive_disk_seconds_left", "disk.seconds_left",
       "Time until the file system of the store is full, at the rate of the last minute; absent "
       "while nothing is stored.",
       s.disk ? or_null(s.disk->seconds_left) : json::value()},

      // Who sends.
      {gauge, "receive_daemon_connected{node}", "daemons[node].connected",
       "1 if the daemon has said hello but not goodbye, is not missing, and was heard in the last "
       "5 s.",
       each_daemon(s, [](const auto& d) { return json::value(d.connected); })},
      {"daemons[node].name",
       "The daemon's key in the allow-list, or its address; empty if it was not heard.",
       each_daemon(s, [](const auto& d) { return json::value(d.name); })},
      {"daemons[node].state",
       "`sending` (events were stored in the last 10 s), `idle`, `missing` (silent without "
       "a goodbye), `ended` (it said goodbye), `unknown` (not heard since the receiver's start).",
       each_daemon(s, [](const auto& d) { return json::value(std::string(name_of(d.state))); })},
      {gauge, "receive_daemon_missing{node}", "daemons[node].missing",
       "1 if the daemon fell silent without a goodbye, and is not back.",
       each_daemon(s, [](const auto& d) { return json::value(d.state == node_state::missing); })},
      {"daemons[node].run", "Run of its latest block, or its hello.",
       each_daemon(s, [](const auto& d) { return json::value(d.run); })},
      {gauge, "receive_daemon_silent_seconds{node}", "daemons[node].silent",
       "Time since the daemon was last heard; absent if it was not heard since the receiver's "
       "start.",
       each_daemon(s, [](const auto& d) { return or_null(d.silent); })},
      {counter, "receive_daemon_blocks_total{node}", "daemons[node].stored.blocks",
       "Blocks of the daemon that were stored since the receiver's start.",
       each_daemon(s, [](const auto& d) { return json::value(d.stored.blocks); })},
      {counter, "receive_daemon_events_total{node}", "daemons[node].stored.events",
       "Events in these blocks.",
       each_daemon(s, [](const auto& d) { return json::value(d.stored.events); })},
      {counter, "receive_daemon_bytes_total{node}", "daemons[node].stored.bytes",
       "Bytes of these blocks.",
       each_daemon(s, [](const auto& d) { return json::value(d.stored.bytes); })},
      {"daemons[node].blocks", "Its blocks in the store.",
       each_daemon(s, [](const auto& d) { return json::value(d.in_store.blocks); })},
      {"daemons[node].events", "Its events in the store.",
       each_daemon(s, [](const auto& d) { return json::value(d.in_store.events); })},
      {"daemons[node].bytes", "Bytes of these events.",
       each_daemon(s, [](const auto& d) { return json::value(d.in_store.bytes); })},
      {"daemons[node].events_per_second", "Events stored a second, over the last ten.",
       each_daemon(s, [](const auto& d) { return json::value(d.events_per_second); })},
      {"daemons[node].bytes_per_second", "Bytes stored a second, over the last ten.",
       each_daemon(s, [](const auto& d) { return json::value(d.bytes_per_second); })},
      {gauge, "receive_daemon_lag_seconds{node}", "daemons[node].lag",
       "Time from sealing the daemon's last block to storing it, by the clocks of both machines; "
       "absent: none was stored since the start, or the daemon's clock is more than a day ahead "
       "or a year behind.",
       each_daemon(s, [](const auto& d) { return or_null(d.lag); })},
      {"daemons[node].last_block", "Seconds since its last block was stored.",
       each_daemon(s, [](const auto& d) { return or_null(d.last_block); })},
      {"daemons[node].last_event",
       "`spill` and `event` of its last event in the store, if known; for a daemon that was heard "
       "since the receiver's start.",
       each_daemon(s, [](const auto& d) { return event_or_null(d.last_event); })},
      {"daemons_left_out", "Nodes that are not listed: only the 48 heard last are.",
       s.daemons_left_out},
      {"missing",
       "Parts of runs that nodes accepted but did not deliver. Each has its `node` and `run`, the "
       "node's last event in the store (`after`; null if unknown), its first one after a restart "
       "(`before`), and in seconds `silent_for` and `back_after` (null: not back). Events that "
       "the node had on disk, or that senders over TCP send to other nodes, are stored.",
       missing_parts(s)},
  };
  std::ranges::move(
      families_of(rows_of(receive_troubles()), s.troubles, "receive_trouble{name,severity}", ""),
      std::back_inserter(all));
  std::ranges::move(families_of(s.process), std::back_inserter(all));
  return all;
}

std::string event_in_words(const event_key& event) {
  return fmt::format("event {} of spill {}", event.number, event.spill);
}

} // namespace l3
