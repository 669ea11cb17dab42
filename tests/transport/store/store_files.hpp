// SPDX-License-Identifier: Apache-2.0
// What tests of a store need: blocks that are known by their numbers, what a folder holds, files as
// bytes, and a disk that has little room.
#pragma once

#include <filesystem>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/outbox/failing_disk.hpp"
#include "tests/transport/store/packed_events.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/store/store_writer.hpp"

namespace l3::test {

namespace fs = std::filesystem;
inline constexpr std::uint64_t session = 42;

inline bytes block_of(std::uint64_t sequence, std::uint64_t of_session = session,
                      std::uint32_t samples = 1) {
  std::mt19937 random(static_cast<std::uint32_t>(sequence));
  event_recipe recipe;
  recipe.key = {1, static_cast<std::uint32_t>(sequence)};
  recipe.fragments = 1;
  recipe.boards = samples;
  return make_block({make_event(recipe, random).packed}, of_session, sequence);
}

inline std::error_code append(store_writer& store, const bytes& block) {
  block_header header;
  EXPECT_EQ(check_block(block, header), block_fault::none);
  return store.append(block, header);
}

/// A store of blocks 1 … `last` whose receiver ended.
inline void fill_store(const fs::path& folder, std::uint64_t last) {
  store_writer store({folder});
  for (std::uint64_t i = 1; i <= last; ++i) ASSERT_FALSE(append(store, block_of(i)));
}

/// The file of this number, whatever its name is now.
inline fs::path find_store_file(const fs::path& folder, std::uint64_t number) {
  return l3::find_store_file(folder, {number, std::nullopt});
}

/// The (session, sequence) of every readable block with a good payload.
inline std::vector<std::pair<std::uint64_t, std::uint64_t>>
contents(const fs::path& folder, std::uint64_t* damaged = nullptr) {
  store_reader reader(folder);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  std::vector<std::byte> payload;
  std::uint64_t bad = 0;
  while (const auto block = reader.next()) {
    if (reader.read_payload(*block, payload)) {
      found.emplace_back(block->header.session, block->header.sequence);
    } else {
      ++bad;
    }
  }
  if (damaged != nullptr) *damaged = bad + reader.damaged();
  return found;
}

/// A file of blocks 1 … `last` of which some never reached the disk: their headers, or the ends of
/// their payloads.
inline void write_damaged_file(const fs::path& folder, std::uint64_t last,
                               const std::vector<std::uint64_t>& lost, bool header) {
  fill_store(folder, last);
  edit_file(find_store_file(folder, 1), [&](bytes& file) {
    for (const auto n : lost) {
      std::size_t at = sizeof(store_file_header);
      for (std::uint64_t i = 1; i < n + (header ? 0 : 1); ++i) at += block_of(i).size();
      std::fill_n(&file[header ? at : at - 200], 200, std::byte{0});
    }
  });
}

using sequences = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

} // namespace l3::test
