// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stored_events.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/store/store_files.hpp"
#include "tools/evaluate/stored_settings.hpp"
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

/// Damages the payload of the first block of a file.
void damage(const test::fs::path& folder, std::uint64_t number) {
  const auto file = folder / store_file_name(number);
  auto bytes = test::read_file(file);
  bytes[sizeof(store_file_header) + sizeof(block_header)] ^= std::byte{1};
  test::write_file(file, bytes);
}

TEST(stored_events, of_a_damaged_block_are_left_out_and_counted) {
  const test::scratch_folder folder;
  write_file(folder.path(), 1, {block_of(1), block_of(2)});
  damage(folder.path(), 1);
  const auto [numbers, lost] = read(folder.path());
  EXPECT_EQ(numbers, std::vector<std::uint32_t>{2});
  EXPECT_EQ(lost.blocks, 1U);
  EXPECT_EQ(lost.events, 1U);
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

TEST(stored_settings, of_a_session_that_came_since_are_read_then) {
  const test::scratch_folder folder;
  write_file(folder.path(), 1, {block_of(1), block_of(2)});
  interrupt signals;
  stored_settings settings(folder.path(), signals);
  block_header header;
  test::bytes late = block_of(1, test::session + 1);
  ASSERT_EQ(check_block(late, header), block_fault::none);
  EXPECT_NE(settings.of(header).fault.find("the settings of its session are missing"),
            std::string::npos);

  late = block_of(1, test::session + 2);
  ASSERT_EQ(check_block(late, header), block_fault::none);
  late = with_settings(late, header, test::bytes(32));
  write_file(folder.path(), 3, {late});
  EXPECT_NE(settings.of(header).fault.find("another version or are invalid"), std::string::npos)
      << "they are there, and were not when the folder was read";
}

} // namespace
} // namespace l3
