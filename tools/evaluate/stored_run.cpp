// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stored_run.hpp"

#include <optional>

#include "tools/evaluate/stored_settings.hpp"

namespace l3 {

unreadable_parts for_each_stored(
    const std::filesystem::path& folder, const selection_options& how, const readout& crates,
    const std::function<void(const block_selector&, const decided_event&)>& f, interrupt& signals) {
  std::optional<block_selector> with;
  const auto decide = [&] {
    signals.check();
    if (with) with->decide([&](const decided_event& e) { f(*with, e); });
  };
  payload_tally limited;
  std::uint64_t damaged = 0;
  stored_events in(folder, "select", signals);
  while (const auto event = in.next()) {
    if (!event->is_whole()) {
      limited.add(*event);
      continue;
    }
    if (!with || with->run() != in.block().run) {
      decide();
      with.emplace(how, crates, in.block().run);
    }
    if (!with->add(*event)) ++damaged;
    if (with->is_full()) decide();
  }
  decide();
  unreadable_parts lost = in.left_out();
  lost.events += damaged;
  lost.limited = limited;
  if (limited.events() > 0) lost.lines = stored_settings(folder, signals).line_names();
  return lost;
}

} // namespace l3
