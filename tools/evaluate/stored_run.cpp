// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stored_run.hpp"

#include <optional>
#include <vector>

#include "tools/progress.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

unreadable_parts for_each_stored(
    const std::filesystem::path& folder, const selection_options& how, const readout& crates,
    const std::function<void(const block_selector&, const decided_event&)>& f, interrupt& signals) {
  unreadable_parts lost;
  std::optional<block_selector> with;
  const auto decide = [&] {
    signals.check();
    if (with) with->decide([&](const decided_event& e) { f(*with, e); });
  };
  store_reader in(folder, [&] { return signals.check(), false; });
  progress line("select", 0, "MiB");
  std::uint64_t bytes = 0;
  std::vector<std::byte> payload;
  while (const auto block = in.next()) {
    if (!in.read_payload(*block, payload)) {
      ++lost.blocks;
      lost.events += block->header.events;
      continue;
    }
    if (!with || with->run() != block->header.run) {
      decide();
      with.emplace(how, crates, block->header.run);
    }
    event_walk walk(payload);
    while (const auto packed = walk.next()) {
      const auto event = packed_event_view::parse(*packed);
      if (!event) {
        ++lost.events;
        continue;
      }
      if (!event->is_whole()) {
        lost.limited.add(*event);
        continue;
      }
      with->add(*event);
      if (with->is_full()) decide();
    }
    if (!walk.complete()) ++lost.places;
    line.update((bytes += payload.size()) >> 20);
  }
  decide();
  lost.places += in.damaged();
  lost.torn_ends = in.torn_ends().size();
  return lost;
}

} // namespace l3
