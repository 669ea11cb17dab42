// SPDX-License-Identifier: Apache-2.0
#include "receiver/snapshot.hpp"

#include <cstddef>

#include <fmt/format.h>

namespace l3 {
namespace {

/// "node 5 of run 7 after event 17 of spill 5", for each missing node.
std::string who_is_missing(const receive_snapshot& s) {
  std::string text;
  for (const missing_snapshot& m : s.missing) {
    if (m.away) continue;
    text += fmt::format("{}node {} of run {}{}", text.empty() ? "" : "; ", m.node, m.run,
                        m.after ? " after " + event_in_words(*m.after) : "");
  }
  return text;
}

/// "node 5 (address 10.0.0.1, address 10.0.0.2)".
std::string who_are_several(const receive_snapshot& s) {
  std::string text;
  for (const auto& [node, who] : s.same_nodes)
    text += fmt::format("{}node {} ({})", text.empty() ? "" : ", ", node, who);
  return text;
}

} // namespace

std::string event_in_words(const event_key& event) {
  return fmt::format("event {} of spill {}", event.number, event.spill);
}

std::string advice(const receive_snapshot& s) {
  const auto has = [&](receive_trouble t) { return s.has[static_cast<std::size_t>(t)]; };
  if (!s.ready())
    return "Nothing is stored: " + s.store_error +
           ". The daemons keep what they have; make room, or mend the disk of " + s.folder + ".";
  if (has(receive_trouble::node_missing))
    return "Missing: " + who_is_missing(s) + ". Look at the node, and at what became of it.";
  if (has(receive_trouble::same_node))
    return "Several daemons say that they are " + who_are_several(s) +
           ": give each a number of its own in run.node; until then their counts are added up, and "
           "it is not told which of them dies.";
  if (has(receive_trouble::ledger_fails))
    return "The ledger cannot be written: " + s.ledger_error +
           ". Blocks are stored all the same; make room, or take away what is in its place, before "
           "the receiver ends.";
  if (has(receive_trouble::disk_low))
    return "The disk of " + s.folder + " is nearly full: make room, or start a receiver elsewhere.";
  return {};
}

} // namespace l3
