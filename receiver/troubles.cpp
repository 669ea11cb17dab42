// SPDX-License-Identifier: Apache-2.0
#include "receiver/troubles.hpp"

#include <fmt/format.h>

#include "monitor/in_words.hpp"

namespace l3 {

namespace {

using sign = std::optional<finding>;

constexpr std::string_view shift = "the shift";
constexpr std::string_view expert = "the expert of the receiver";

/// The daemons keep their events, until their memory and their disks are full.
sign look_at_store(const receive_snapshot& /*before*/, const receive_snapshot& s) {
  if (s.ready()) return std::nullopt;
  return finding{.how_bad = severity::critical,
                 .text = fmt::format("nothing is stored in {}: {}", s.folder, s.store_error),
                 .loses = losing::soon,
                 .seconds_left = 0,
                 .what = s.store_error};
}

sign look_at_disk(const receive_snapshot& /*before*/, const receive_snapshot& s) {
  constexpr double low_seconds = 3600;
  constexpr double urgent_seconds = 600;
  constexpr std::uint64_t low_part = 20; // one in this many bytes is free
  if (!s.disk) return std::nullopt;
  const disk_snapshot& d = *s.disk;
  const bool fills_up = d.seconds_left && *d.seconds_left < low_seconds;
  if (!fills_up && d.free >= d.bytes / low_part) return std::nullopt;
  finding f;
  f.text = fmt::format("the disk of {} has {:.1f} GB free of {:.1f}", s.folder,
                       static_cast<double>(d.free) / 1e9, static_cast<double>(d.bytes) / 1e9);
  if (!fills_up) return f;
  f.text += ": it is full in " + in_words(*d.seconds_left);
  f.loses = losing::soon;
  f.seconds_left = d.seconds_left;
  if (*d.seconds_left < urgent_seconds) f.how_bad = severity::critical;
  return f;
}

sign look_at_speed(const receive_snapshot& before, const receive_snapshot& s) {
  const std::uint64_t slow = s.counters.slow_milliseconds - before.counters.slow_milliseconds;
  if (slow == 0) return std::nullopt;
  return finding{.text =
                     fmt::format("the disk of {} took {:.1f} s for a write, and the daemons had "
                                 "no answer meanwhile",
                                 s.folder, static_cast<double>(slow) / 1e3)};
}

sign look_at_nodes(const receive_snapshot& /*before*/, const receive_snapshot& s) {
  finding f{.how_bad = severity::critical, .text = {}, .loses = losing::now};
  for (const missing_snapshot& m : s.missing) {
    if (m.away) continue;
    f.what += fmt::format("{}node {} of run {}{}", f.what.empty() ? "" : "; ", m.node, m.run,
                          m.after ? " after " + event_in_words(*m.after) : "");
  }
  if (f.what.empty()) return std::nullopt;
  f.text = "missing: " + f.what;
  return f;
}

sign look_at_numbers(const receive_snapshot& /*before*/, const receive_snapshot& s) {
  finding f;
  for (const auto& [node, who] : s.same_nodes)
    f.what += fmt::format("{}node {} ({})", f.what.empty() ? "" : ", ", node, who);
  if (f.what.empty()) return std::nullopt;
  f.text = "several daemons claim to be " + f.what +
           ": their counts are added up, and a dead one cannot be named";
  return f;
}

sign look_at_ledger(const receive_snapshot& /*before*/, const receive_snapshot& s) {
  if (s.ledger_error.empty()) return std::nullopt;
  return finding{.text = fmt::format("the ledger: {}{}", s.ledger_error,
                                     s.ready() ? "; blocks are stored nevertheless" : ""),
                 .what = s.ledger_error};
}

/// Whether the block comes from another version or another program.
bool is_foreign(block_fault f) { return f == block_fault::version || f == block_fault::magic; }

/// A damaged block is sent again.
sign look_at_blocks(const receive_snapshot& before, const receive_snapshot& s) {
  std::uint64_t damaged = 0;
  std::string why;
  for (std::size_t n = 1; n < enumerators<block_fault>; ++n) {
    const auto fault = static_cast<block_fault>(n);
    const std::uint64_t more = s.counters.damaged[fault] - before.counters.damaged[fault];
    if (more == 0 || is_foreign(fault)) continue;
    damaged += more;
    why += (why.empty() ? "" : ", ") + std::string(name_of(fault));
  }
  if (damaged == 0) return std::nullopt;
  const std::uint64_t all = s.counters.blocks - before.counters.blocks;
  finding f;
  f.text = fmt::format("{} just now arrived damaged ({})", part_of(damaged, all, "block"), why);
  f.what = why;
  if (damaged < all) return f;
  f.how_bad = severity::critical; // nothing arrives, and the daemons fill up
  f.loses = losing::soon;
  return f;
}

/// Connections and messages that the receiver refuses: a daemon behind them stores nothing.
sign look_at_refusals(const receive_snapshot& before, const receive_snapshot& s) {
  const auto of_kind = [&](block_fault fault) {
    return s.counters.damaged[fault] - before.counters.damaged[fault];
  };
  const connection_counters& was = before.counters.connections;
  const connection_counters& is = s.counters.connections;
  const std::uint64_t unknown = is.unknown_key - was.unknown_key;
  const std::uint64_t one_sided = is.mechanism - was.mechanism;
  const std::uint64_t foreign = s.counters.garbage - before.counters.garbage +
                                of_kind(block_fault::version) + of_kind(block_fault::magic);
  finding f;
  const auto add = [&](std::uint64_t n, std::string_view what, std::string_view action) {
    if (n == 0) return;
    f.text += fmt::format("{}{} {}", f.text.empty() ? "refused just now: " : ", ", n, what);
    f.what += what;
    if (f.action.empty()) f.action = action;
  };
  add(unknown, "connections with an unknown key",
      "if the address in the log is a daemon's, add its public key to the allow-list and restart "
      "the receiver");
  add(one_sided, "connections with keys on one side only",
      "give the daemon (forward.secret_key) and the receiver (--secret-key) keys, or neither");
  add(foreign, "messages of another program or version",
      "use the same version on both machines, and let nothing else send to this port");
  return f.text.empty() ? sign() : f;
}

} // namespace

const std::array<trouble_kind<receive_snapshot>, receive_trouble_kinds>& receive_troubles() {
  using enum ends;
  static constexpr std::array<trouble_kind<receive_snapshot>, receive_trouble_kinds> kinds{{
      {{"store_fails", at_once, shift,
        "The receiver stores nothing: its disk is full, or fails. The daemons keep their events, "
        "in memory and then on disk, until those are full too. A disk that fails for a minute ends "
        "the receiver with exit code 69, and the service manager starts it again.",
        "make room, or repair the disk (dmesg, smartctl)", "10s", ""},
       look_at_store},
      {{"disk_low", at_once, shift,
        "The disk of the receiver will be full within an hour at the present rate, or is full to "
        "95 %. It is critical within ten minutes.",
        "archive complete files of the store (docs/formats.md, section 9), or start a receiver "
        "with another disk",
        "10s", "10s"},
       look_at_disk},
      {{"disk_slow", with_data, shift,
        "The disk of the receiver takes a second or longer for a write. The receiver answers no "
        "daemon meanwhile, so daemons show receiver_absent; they keep their events.",
        "find out what else uses that disk, and look at its health (iostat, dmesg, smartctl)", "",
        "30s"},
       look_at_speed},
      {{"node_missing", at_once, shift,
        "A node fell silent without a goodbye: it died, or is cut off. Its events since the last "
        "stored one are missing; those on its disk arrive when it is back, and senders over TCP "
        "send theirs to other nodes. If a node was removed for good, `systemctl restart "
        "koto-l3-receive` forgets it and loses nothing.",
        "check that node: its service, its machine, its cable", "0s", "", false,
        "koto_l3_receive_daemon_missing", "node"},
       look_at_nodes},
      {{"blocks_damaged", with_data, expert,
        "Blocks arrive damaged at the receiver. It drops them and the daemon sends them again, so "
        "nothing is lost unless no whole block arrives: then the trouble is critical. "
        "`koto_l3_receive_damaged_blocks_total` counts them by reason.",
        "check the network cards, the cable and the memory of both machines", "10s", "1m"},
       look_at_blocks},
      {{"blocks_refused", with_data, expert,
        "The receiver refuses connections or messages: a key that it does not know, keys on one "
        "side only, another version, or another program. A daemon behind them stores nothing and "
        "keeps its events. The receiver's log names the addresses.",
        "compare the keys and the versions of the daemon and the receiver", "", "30s"},
       look_at_refusals},
      {{"same_node", at_once, expert,
        "Several daemons that send to the receiver have the same node number: their counts are "
        "added up, and the receiver cannot say which of them dies. Nothing is lost.",
        "give each its own run.node, and restart it", "", "0s"},
       look_at_numbers},
      {{"ledger_fails", at_once, shift,
        "The receiver cannot write its ledger: a full disk, or another file with that name. It "
        "stores all blocks, and tries again every 5 s. If it still cannot when it ends, its exit "
        "code is 1, and `koto-l3 verify` works without that ledger.",
        "make room, or remove the file in its place, before the receiver ends", "", "10s"},
       look_at_ledger},
  }};
  return kinds;
}

} // namespace l3
