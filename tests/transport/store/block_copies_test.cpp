// SPDX-License-Identifier: Apache-2.0
// Blocks that stand twice in a store: what readers take of them and tell, and what the next
// receiver counts.
#include "transport/store/block_copies.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/store/store_files.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/event_index.hpp"

namespace l3::test {
namespace {

bytes block_with(std::uint64_t sequence, std::vector<std::uint32_t> events) {
  std::mt19937 random(static_cast<std::uint32_t>(sequence));
  std::vector<bytes> packed;
  for (const std::uint32_t e : events)
    packed.push_back(make_event({.key = {1, e}, .fragments = 1, .boards = 1}, random).packed);
  return make_block(packed, session, sequence);
}

/// As a receiver makes it of a block of which other sessions have so many events.
bytes with_repeated(bytes block, std::uint32_t repeated) {
  auto header = load<block_header>(block.data());
  header.repeated = repeated;
  seal_header(header);
  l3::store(block.data(), header);
  return block;
}

bytes with_added_settings(const bytes& block) {
  const bytes settings(64, std::byte{1});
  return with_settings(block, load<block_header>(block.data()), settings);
}

void write_blocks(const fs::path& folder, std::uint64_t number, const std::vector<bytes>& blocks) {
  store_file_header head;
  head.number = number;
  bytes all(sizeof head);
  l3::store(all.data(), head);
  for (const bytes& b : blocks) all.insert(all.end(), b.begin(), b.end());
  write_file(folder / store_file_name(number), all);
}

struct found_in_store {
  std::vector<std::uint32_t> events;
  std::vector<std::string> told;

  explicit found_in_store(const fs::path& folder) {
    const event_index index(folder);
    for (const auto& e : index.entries())
      if (!index.is_in_copy(e)) events.push_back(e.key.number);
    told = index.file_faults();
    EXPECT_EQ(index.damaged(), told.size()) << "programs end with 1 for it";
  }
};

struct counted_at_a_start {
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t not_as_written = 0;
  std::vector<std::string> news;

  explicit counted_at_a_start(const fs::path& folder) {
    store_writer writer({folder});
    blocks = writer.sessions().at(session).blocks;
    events = writer.sessions().at(session).events;
    not_as_written = writer.not_as_written();
    news = writer.take_news();
  }
};

TEST(block_copies, with_other_contents_are_told_and_no_ledger_is_clean) {
  const scratch_folder folder;
  write_blocks(folder.path(), 1, {block_of(1), block_with(2, {2}), block_of(3)});
  write_blocks(folder.path(), 2, {block_of(1), block_with(2, {12}), block_with(3, {3, 13})});
  const std::string sentence =
      "blocks-000002.kl3: 2 blocks stand twice, with other contents than in blocks-000001.kl3 "
      "(block 2 of session 000000000000002a): only the first of each is read";
  const found_in_store found(folder.path());
  EXPECT_EQ(found.events, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(found.told, std::vector<std::string>{sentence});
  const counted_at_a_start counted(folder.path());
  EXPECT_EQ(counted.blocks, 3U);
  EXPECT_EQ(counted.events, 3U);
  EXPECT_EQ(counted.not_as_written, 1U);
  EXPECT_TRUE(std::ranges::count(counted.news, folder.path() + ": " + sentence) == 1);
}

TEST(block_copies, that_are_empty_hide_no_events) {
  for (const std::uint64_t number_of_the_empty_one : {1, 2}) {
    const scratch_folder folder;
    write_blocks(folder.path(), number_of_the_empty_one,
                 {block_of(1), block_with(2, {}), block_of(3)});
    write_blocks(folder.path(), 3 - number_of_the_empty_one,
                 {block_of(1), block_with(2, {2, 12}), block_of(3)});
    const found_in_store found(folder.path());
    EXPECT_EQ(found.events, (std::vector<std::uint32_t>{1, 2, 3, 12}));
    EXPECT_EQ(found.told, std::vector<std::string>());
    const counted_at_a_start counted(folder.path());
    EXPECT_EQ(counted.blocks, 3U);
    EXPECT_EQ(counted.events, 4U);
    EXPECT_EQ(counted.not_as_written, 0U);
  }
}

TEST(block_copies, of_which_the_first_two_are_empty_count_with_the_events_of_the_third) {
  const scratch_folder folder;
  write_blocks(folder.path(), 1, {block_with(2, {})});
  write_blocks(folder.path(), 2, {block_with(2, {})});
  write_blocks(folder.path(), 3, {block_with(2, {2})});
  write_blocks(folder.path(), 4, {block_with(2, {2}), block_with(2, {})});
  const found_in_store found(folder.path());
  EXPECT_EQ(found.events, std::vector<std::uint32_t>{2});
  EXPECT_EQ(found.told, std::vector<std::string>());
  const counted_at_a_start counted(folder.path());
  EXPECT_EQ(counted.blocks, 1U);
  EXPECT_EQ(counted.events, 1U);
}

TEST(block_copies, are_the_same_block_with_and_without_what_a_receiver_adds_and_leaves_out) {
  const scratch_folder folder;
  const std::vector<bytes> as_sent{block_with(1, {1}), block_with(2, {2, 12}), block_with(3, {3})};
  write_blocks(folder.path(), 1, as_sent);
  write_blocks(folder.path(), 2,
               {with_added_settings(as_sent[0]), with_repeated(block_with(2, {12}), 1),
                with_repeated(block_with(3, {}), 1)});
  EXPECT_EQ(found_in_store(folder.path()).told, std::vector<std::string>());
  EXPECT_EQ(counted_at_a_start(folder.path()).not_as_written, 0U);
  const scratch_folder other;
  write_blocks(other.path(), 1, as_sent);
  write_blocks(
      other.path(), 2,
      {with_added_settings(block_with(1, {1, 11})), with_repeated(block_with(2, {12, 22}), 1)});
  EXPECT_EQ(found_in_store(other.path()).told.size(), 1U);
}

} // namespace
} // namespace l3::test
