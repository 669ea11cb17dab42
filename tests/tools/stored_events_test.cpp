// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stored_events.hpp"

#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/store/store_files.hpp"
#include "tools/evaluate/stored_settings.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {
namespace {

using test::block_of;

void write_file(const test::fs::path& folder, std::uint64_t number,
                const std::vector<test::bytes>& blocks) {
  store_file_header head;
  head.number = number;
  test::bytes all(sizeof head);
  store(all.data(), head);
  for (const test::bytes& block : blocks) all.insert(all.end(), block.begin(), block.end());
  test::write_file(folder / store_file_name(number), all);
}

/// Two blocks in a file, and the first of them once more in the next one.
void fill(const test::fs::path& folder) {
  write_file(folder, 1, {block_of(1), block_of(2)});
  write_file(folder, 2, {block_of(1)});
}

/// The event numbers, in their order, and what was left out.
std::pair<std::vector<std::uint32_t>, unreadable_parts> read(const std::string& folder) {
  interrupt signals;
  stored_events in(folder, "test", signals);
  std::vector<std::uint32_t> numbers;
  while (const auto event = in.next()) {
    EXPECT_EQ(in.block().sequence, event->key().number) << "block_of() numbers them alike";
    numbers.push_back(event->key().number);
  }
  return {numbers, in.left_out()};
}

TEST(stored_events, of_a_block_that_stands_twice_are_read_once) {
  const test::scratch_folder folder;
  fill(folder.path());
  const auto [numbers, lost] = read(folder.path());
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(lost.duplicated_blocks, 1U);
  EXPECT_EQ(lost.duplicated, 1U);
  EXPECT_TRUE(lost.none());
  EXPECT_EQ(tell(lost, false), 0);
}

TEST(stored_events, of_another_session_are_others) {
  const test::scratch_folder folder;
  fill(folder.path());
  write_file(folder.path(), 3, {block_of(1, test::session + 1)});
  const auto [numbers, lost] = read(folder.path());
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2, 1}));
  EXPECT_EQ(lost.duplicated_blocks, 1U);
}

/// Damages the payload of the first block of a file.
void damage(const test::fs::path& folder, std::uint64_t number) {
  const auto file = folder / store_file_name(number);
  auto bytes = test::read_file(file);
  bytes[sizeof(store_file_header) + sizeof(block_header)] ^= std::byte{1};
  test::write_file(file, bytes);
}

TEST(stored_events, are_read_from_the_copy_that_is_whole) {
  for (const std::uint64_t damaged : {1U, 2U}) { // before the whole copy, and behind it
    const test::scratch_folder folder;
    fill(folder.path());
    damage(folder.path(), damaged);
    const auto [numbers, lost] = read(folder.path());
    EXPECT_EQ(numbers, damaged == 1 ? (std::vector<std::uint32_t>{2, 1})
                                    : (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(lost.duplicated_blocks, 0U);
    EXPECT_EQ(lost.damaged_copies, 1U);
    EXPECT_TRUE(lost.none());
    EXPECT_EQ(tell(lost, false), 0);
  }
}

TEST(stored_events, of_a_block_without_a_whole_copy_are_lost_once) {
  const test::scratch_folder folder;
  fill(folder.path());
  damage(folder.path(), 1);
  damage(folder.path(), 2);
  const auto [numbers, lost] = read(folder.path());
  EXPECT_EQ(numbers, std::vector<std::uint32_t>{2});
  EXPECT_EQ(lost.damaged_copies, 0U);
  EXPECT_EQ(lost.blocks, 1U);
  EXPECT_EQ(lost.events, 1U);
  EXPECT_EQ(tell(lost, false), exit_failure);
  EXPECT_EQ(tell(lost, true), 0);
}

TEST(stored_events, of_a_block_are_read_behind_an_empty_one_of_its_name) {
  const test::bytes empty = test::make_block({}, test::session, 1);
  for (const bool empty_first : {true, false}) {
    const test::scratch_folder folder;
    write_file(folder.path(), empty_first ? 1 : 2, {empty, block_of(2)});
    write_file(folder.path(), empty_first ? 2 : 1, {block_of(1), block_of(2)});
    const auto [numbers, lost] = read(folder.path());
    EXPECT_EQ(std::multiset<std::uint32_t>(numbers.begin(), numbers.end()),
              (std::multiset<std::uint32_t>{1, 2}));
    EXPECT_EQ(lost.duplicated, 1U) << "of block 2";
    EXPECT_EQ(tell(lost, false), 0);
    damage(folder.path(), empty_first ? 2 : 1);
    EXPECT_EQ(read(folder.path()).second.events, 1U) << "the empty one has not what is damaged";
  }
}

TEST(stored_events, of_two_blocks_of_one_name_are_those_of_the_first_and_the_other_is_told) {
  const test::scratch_folder folder;
  write_file(folder.path(), 1, {block_of(1)});
  auto other = block_of(1);
  auto header = load<block_header>(other.data());
  other.back() ^= std::byte{1};
  header.payload_crc = crc32c(std::span(other).subspan(sizeof header));
  seal_header(header);
  store(other.data(), header);
  write_file(folder.path(), 2, {other});
  const auto [numbers, lost] = read(folder.path());
  EXPECT_EQ(numbers, std::vector<std::uint32_t>{1});
  EXPECT_EQ(lost.files.size(), 1U);
  EXPECT_EQ(tell(lost, false), exit_failure);
  EXPECT_EQ(tell(lost, true), 0);
}

/// The block with another number of events in its header, and right checksums.
test::bytes with_events(test::bytes block, std::uint32_t events) {
  auto header = load<block_header>(block.data());
  header.events = events;
  seal_header(header);
  store(block.data(), header);
  return block;
}

TEST(stored_events, of_a_block_that_says_another_number_are_read_and_the_block_is_damaged) {
  for (const std::uint32_t said : {0U, 2U, 1U << 31}) {
    const test::scratch_folder folder;
    write_file(folder.path(), 1, {with_events(block_of(1), said), block_of(2)});
    const auto [numbers, lost] = read(folder.path());
    EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(lost.places, 1U);
    EXPECT_EQ(tell(lost, false), exit_failure);
    EXPECT_EQ(event_index(folder.path()).damaged(), 1U) << "other readers say the same";
  }
}

TEST(stored_events, of_a_file_that_is_gone_are_told) {
  const test::scratch_folder folder;
  fill(folder.path());
  const test::fs::path at = folder.path();
  const std::string text = "{}";
  test::write_file(at / "blocks-000003-run000007-node0.json", std::as_bytes(std::span(text)));
  const auto [numbers, lost] = read(folder.path());
  EXPECT_EQ(lost.files, std::vector<std::string>{
                            "blocks-000003-run000007-node0.kl3 is not there, and its sidecar is"});
  EXPECT_EQ(tell(lost, false), exit_failure);
  EXPECT_EQ(tell(lost, true), 0);
}

TEST(stored_settings, of_a_session_that_came_since_are_read_then) {
  const test::scratch_folder folder;
  fill(folder.path());
  interrupt signals;
  stored_settings settings(folder.path(), signals);
  block_header header;
  test::bytes late = block_of(1, test::session + 1);
  ASSERT_EQ(check_block(late, header), block_fault::none);
  EXPECT_NE(settings.of(header).fault.find("no settings are stored"), std::string::npos);

  late = block_of(1, test::session + 2);
  ASSERT_EQ(check_block(late, header), block_fault::none);
  late = with_settings(late, header, test::bytes(32));
  write_file(folder.path(), 3, {late});
  EXPECT_NE(settings.of(header).fault.find("of another version, or none at all"), std::string::npos)
      << "they are there, and were not when the folder was read";
}

} // namespace
} // namespace l3
