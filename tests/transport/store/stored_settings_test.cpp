// SPDX-License-Identifier: Apache-2.0
// The settings that decided a session's events, in the blocks of its store: in each file once, and
// wherever a copy is damaged, in another place.
#include <algorithm>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/transport/store/store_files.hpp"
#include "transport/format/block_entries.hpp"
#include "transport/format/endian.hpp"

namespace l3::test {
namespace {

bytes settings_of(std::string_view text) {
  bytes made(32);
  std::ranges::transform(text, made.begin(), [](char c) { return static_cast<std::byte>(c); });
  return made;
}

bytes with(const bytes& block, const bytes& settings) {
  block_header header;
  EXPECT_EQ(check_block(block, header), block_fault::none);
  return with_settings(block, header, settings);
}

struct found_settings {
  std::uint64_t file = 0;
  std::uint64_t sequence = 0;
  bytes settings;

  friend bool operator==(const found_settings&, const found_settings&) = default;
};

std::vector<found_settings> settings_in(const fs::path& folder) {
  store_reader reader(folder);
  std::vector<found_settings> all;
  while (const auto block = reader.next()) {
    found_settings one{block->file, block->header.sequence, {}};
    EXPECT_TRUE(reader.read_settings(*block, one.settings));
    if (!one.settings.empty()) all.push_back(one);
  }
  return all;
}

store_settings small_files(const fs::path& folder) {
  store_settings s;
  s.folder = folder;
  s.file_bytes = 3 * block_of(1).size();
  return s;
}

TEST(stored_settings, stand_in_the_first_block_of_their_session_in_each_file) {
  const scratch_folder folder;
  bytes told;
  add_entry(told, 1, "what decides");
  bytes with_once = told; // what stands once comes into no other file
  add_entry(with_once, histograms_key, "of a spill");
  {
    store_writer store(small_files(folder.path()));
    ASSERT_FALSE(append(store, with(block_of(1), with_once)));
    for (std::uint64_t n = 2; n <= 9; ++n) ASSERT_FALSE(append(store, block_of(n)));
    ASSERT_FALSE(append(store, block_of(1, session + 1)));
    ASSERT_FALSE(store.commit());
  }
  {
    store_writer store(small_files(folder.path())); // which has to find them
    ASSERT_FALSE(append(store, block_of(10)));
    ASSERT_FALSE(store.commit());
  }
  const auto found = settings_in(folder.path());
  std::set<std::uint64_t> files;
  for (const auto& f : found) {
    EXPECT_EQ(f.settings, told);
    EXPECT_TRUE(files.insert(f.file).second) << "twice in file " << f.file;
  }
  EXPECT_EQ(found.front().sequence, 1U);
  EXPECT_EQ(found.back().sequence, 10U);
  std::set<std::uint64_t> all;
  store_reader reader(folder.path());
  std::vector<std::byte> events;
  bytes entries;
  while (const auto block = reader.next()) {
    if (block->header.session == session) all.insert(block->file);
    ASSERT_TRUE(reader.read_entries(*block, entries));
    EXPECT_TRUE(entries.empty() || entries == (block->header.sequence == 1 ? with_once : told));
    ASSERT_TRUE(reader.read_payload(*block, events));
    event_walk walk(events, block->header);
    ASSERT_TRUE(walk.next());
    EXPECT_FALSE(walk.next());
    EXPECT_TRUE(walk.complete()) << "the settings are no events";
  }
  EXPECT_EQ(files, all);
  EXPECT_GE(all.size(), 4U);
}

TEST(stored_settings, of_a_block_that_was_taken_back_come_with_the_next) {
  const scratch_folder folder;
  store_writer store(on_doubtful_disk(folder.path()));
  const bytes told = settings_of("what decides");
  ASSERT_FALSE(append(store, with(block_of(1), told)));
  ASSERT_FALSE(store.commit());
  ASSERT_FALSE(store.complete_all_files());
  ASSERT_FALSE(append(store, block_of(2)));
  disk_works = false;
  EXPECT_TRUE(store.commit());
  disk_works = true;
  ASSERT_FALSE(append(store, block_of(2)));
  ASSERT_FALSE(store.commit());
  const auto found = settings_in(folder.path());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].sequence, 2U);
}

TEST(stored_settings, any_flipped_bit_of_a_block_is_found) {
  bytes block = with(block_of(1), settings_of("what decides"));
  block_header header;
  ASSERT_EQ(check_block(block, header), block_fault::none);
  for (std::size_t bit = 0; bit < 8 * block.size(); ++bit) {
    std::byte& changed = block[bit / 8];
    changed ^= std::byte{1} << bit % 8;
    const block_fault fault = check_block(block, header);
    if (bit / 8 < sizeof(block_header))
      ASSERT_NE(fault, block_fault::none) << "bit " << bit;
    else
      ASSERT_EQ(fault, block_fault::payload_checksum) << "bit " << bit;
    changed ^= std::byte{1} << bit % 8;
  }
}

TEST(stored_settings, a_block_says_how_long_they_are_and_no_longer_than_it_is) {
  const bytes block = with(block_of(1), settings_of("what decides"));
  block_header header;
  ASSERT_EQ(check_block(block, header), block_fault::none);
  EXPECT_EQ(header.version, 2);
  EXPECT_EQ(header.settings_bytes, 32U);
  EXPECT_EQ(events_bytes(header) + 32U, header.payload_bytes);
  const auto fault = [&](std::uint32_t length, std::uint8_t version) {
    block_header h = load<block_header>(block.data());
    h.settings_bytes = length;
    h.version = version;
    seal_header(h);
    bytes changed = block;
    store(changed.data(), h);
    return check_block(changed, header);
  };
  EXPECT_EQ(fault(header.payload_bytes + 1, 2), block_fault::length);
  EXPECT_EQ(fault(max_settings_bytes + 1, 2), block_fault::length);
  EXPECT_EQ(fault(32, 3), block_fault::version);
  EXPECT_EQ(fault(32, 1), block_fault::none);
  EXPECT_EQ(header.settings_bytes, 0U) << "of version 1 these bytes say nothing";
}

} // namespace
} // namespace l3::test
