// SPDX-License-Identifier: Apache-2.0
#include "transport/store/block_scan.hpp"

#include <algorithm>

namespace l3 {

namespace {

constexpr std::uint64_t step = std::uint64_t{1} << 20;

bool can_be_read(const store_file& file, const damaged_stretch& stretch) {
  std::vector<std::byte> bytes;
  for (std::uint64_t at = 0; at < stretch.bytes; at += bytes.size()) {
    bytes.resize(std::min(step, stretch.bytes - at));
    if (!file.read(stretch.offset + at, bytes)) return false;
  }
  return true;
}

} // namespace

block_scan scan_block_file(const std::filesystem::path& folder, std::uint64_t number,
                           store_kind kind, bool thorough) {
  store_file file(folder, number, kind);
  block_scan found;
  std::vector<std::byte> payload;
  found.bytes = file.size();
  found.good_end = found.bytes < sizeof(store_file_header) ? 0 : sizeof(store_file_header);
  std::uint64_t seen_end = found.good_end;
  while (const auto block = file.next()) {
    if (block->offset > seen_end) found.damaged.push_back({seen_end, block->offset - seen_end});
    seen_end = block->end();
    if (thorough && !file.read_payload(*block, payload)) {
      found.damaged.push_back(
          {block->offset, block->end() - block->offset, true, block->header.events});
      continue;
    }
    found.good_end = block->end();
    found.blocks.push_back({*block, file.damaged() > 0 || !found.damaged.empty()});
  }
  found.stepped_over = file.damaged();
  if (found.bytes > seen_end) found.torn = {seen_end, found.bytes - seen_end};

  // What was passed over was perhaps not bad, but only out of reach.
  const auto reached = [&](const damaged_stretch& s) { return can_be_read(file, s); };
  found.readable =
      std::ranges::all_of(found.damaged, reached) && (!found.torn || reached(*found.torn));
  return found;
}

} // namespace l3
