// SPDX-License-Identifier: Apache-2.0
// What tests of a store need whose files and folder are removed, moved, cut and replaced.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/transport/store/store_files.hpp"
#include "tests/transport/store/vanishing_files.hpp"
#include "transport/store/store_writer.hpp"

namespace l3::test {

/// A store in a folder that others can reach.
struct store_scene {
  scratch_folder outside;
  fs::path folder = fs::path(outside.path()) / "store";
  fs::path file = folder / "blocks-000001.kl3";

  store_scene() { fs::create_directory(folder); }
};

inline std::uint64_t lost_blocks(const store_writer& store) {
  std::uint64_t blocks = 0;
  for (const auto& [of, lost] : store.lost()) blocks += lost.blocks;
  return blocks;
}

/// Commits blocks from `first` to `last`; those that a commit takes back come again.
inline void store_all(store_writer& store, std::uint64_t first, std::uint64_t last) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    bool taken = true;
    for (auto i = std::max(first, store.last_stored(session) + 1); taken && i <= last; ++i)
      taken = !append(store, block_of(i));
    if (!store.commit() && taken) return;
  }
  FAIL() << "no commit succeeds";
}

inline sequences all_of(std::uint64_t last) {
  sequences all;
  for (std::uint64_t i = 1; i <= last; ++i) all.emplace_back(session, i);
  return all;
}

/// Of a file with so many blocks.
inline std::uint64_t bytes_of(std::uint64_t blocks) {
  std::uint64_t all = sizeof(store_file_header);
  for (std::uint64_t i = 1; i <= blocks; ++i) all += block_of(i).size();
  return all;
}

inline store_settings without_pauses(const fs::path& folder) {
  store_settings settings{folder};
  settings.now = hasty_clock;
  return settings;
}

} // namespace l3::test
