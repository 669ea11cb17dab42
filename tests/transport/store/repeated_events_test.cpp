// SPDX-License-Identifier: Apache-2.0
// Which events a receiver leaves out of blocks: those whose bytes another session has stored, and
// no others, whatever a peer makes equal to them.
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/transport/output/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/store/block.hpp"
#include "transport/store/block_receiver.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

bytes event_of(std::uint32_t number) {
  std::mt19937 random(number);
  event_recipe recipe;
  recipe.key = {1, number};
  recipe.fragments = 1;
  return make_event(recipe, random).packed;
}

/// Another event of the same length and CRC-32C: a multiple of the checksum's polynomial is added
/// to its bytes, so many from the end.
bytes forged(bytes event, std::size_t from_end = 5) {
  constexpr std::uint64_t polynomial = 0x1'1EDC'6F41; // the first bit of the stream is the highest
  const std::size_t at = (event.size() - from_end) * 8;
  for (std::size_t bit = 0; bit <= 32; ++bit) {
    if ((polynomial >> (32 - bit) & 1) == 0) continue;
    event[(at + bit) / 8] ^= static_cast<std::byte>(1U << ((at + bit) % 8));
  }
  return event;
}

class repeated_events : public testing::Test {
protected:
  void begin(std::uint64_t session) {
    near_.hello(session, 1);
    near_.expect(link_message::welcome, 0);
  }
  void take(std::uint64_t session, std::uint64_t sequence, const std::vector<bytes>& events) {
    near_.send(link_message::block, session, sequence, make_block(events, session, sequence));
    near_.expect(link_message::acknowledgement, sequence);
  }
  /// The events of the store in the order of their blocks.
  [[nodiscard]] std::vector<bytes> stored() const {
    store_reader reader(folder_.path());
    std::vector<bytes> all;
    bytes payload;
    while (const auto block = reader.next()) {
      EXPECT_TRUE(reader.read_payload(*block, payload));
      event_walk walk(payload, block->header);
      while (const auto event = walk.next()) all.emplace_back(event->begin(), event->end());
      EXPECT_TRUE(walk.complete());
    }
    return all;
  }

  scratch_folder folder_;
  receiving_end far_{folder_.path()};
  played_daemon near_{far_.endpoint()};
};

TEST_F(repeated_events, are_equal_byte_by_byte) {
  ASSERT_EQ(crc32c(forged(event_of(1))), crc32c(event_of(1)));
  ASSERT_NE(forged(event_of(1)), event_of(1));
  for (const bool restart : {false, true}) {
    const std::uint64_t first = restart ? 20 : 10;
    const bytes same = event_of(static_cast<std::uint32_t>(first));
    begin(first);
    take(first, 1, {forged(same), event_of(2)});
    if (restart) {
      far_.kill();
      far_.start();
    }
    begin(first + 1);
    take(first + 1, 1, {same, event_of(3)});
    begin(first + 2);
    take(first + 2, 1, {same});
    const auto all = stored();
    EXPECT_EQ(std::ranges::count(all, same), 1);
    EXPECT_EQ(std::ranges::count(all, forged(same)), 1);
  }
}

/// Peers that store as many others of its checksum as they like: the event is stored, and at worst
/// more than once.
TEST_F(repeated_events, are_looked_for_in_few_places) {
  const bytes right = event_of(1);
  constexpr std::uint64_t liars = 30;
  for (std::uint64_t n = 1; n <= liars; ++n) {
    begin(n);
    take(n, 1, {forged(right, 4 + n)});
  }
  begin(100);
  take(100, 1, {right});
  begin(101);
  take(101, 1, {right});
  EXPECT_EQ(std::ranges::count(stored(), right), 2);
  EXPECT_GE(far_.counters().unequal_events.get(), liars);
}

/// So many others of its checksum were stored before it: whether it is stored once, when it comes
/// alone and when it comes with others.
TEST_F(repeated_events, are_compared_with_four_and_with_a_block_twice_its_length) {
  std::uint64_t session = 1000;
  std::uint32_t number = 1;
  const auto is_stored_once = [&](std::uint64_t liars, bool alone) {
    bytes right = event_of(++number);
    while (right.size() < 1000) right = event_of(++number);
    for (std::uint64_t n = 1; n <= liars; ++n) {
      begin(++session);
      take(session, 1, {forged(right, 4 + n)});
    }
    for (int n = 0; n < 2; ++n) { // the second knows the first
      std::vector<bytes> events{right};
      for (std::size_t more = 0; !alone && more < 4 * right.size(); more += events.back().size())
        events.push_back(event_of(++number));
      begin(++session);
      take(session, 1, events);
    }
    return std::ranges::count(stored(), right) == 1;
  };
  EXPECT_TRUE(is_stored_once(1, true));
  EXPECT_FALSE(is_stored_once(2, true)) << "two are as long as the block twice";
  EXPECT_TRUE(is_stored_once(3, false));
  EXPECT_FALSE(is_stored_once(4, false));
}

TEST_F(repeated_events, are_found_where_a_file_was_written_anew) {
  begin(9);
  take(9, 1, {event_of(1)});
  const auto file = find_store_file(folder_.path(), 1);
  std::filesystem::rename(file, folder_.path() + "/away");
  ASSERT_TRUE(eventually([&] { // it is refused once, and comes again a second later
    near_.send(link_message::block, 9, 2, make_block({event_of(2)}, 9, 2));
    return far_.counters().stored_blocks >= 2;
  }));
  played_daemon other(far_.endpoint());
  other.hello(10, 1);
  other.expect(link_message::welcome, 0);
  other.send(link_message::block, 10, 1, make_block({event_of(1)}, 10, 1));
  other.expect(link_message::acknowledgement, 1);
  EXPECT_EQ(far_.counters().repeated_events.get(), 1U);
  far_.kill();
  EXPECT_EQ(stored(), (std::vector<bytes>{event_of(1), event_of(2)}));
}

/// A header that is whole, and lies.
bytes with_header(bytes block, std::uint32_t more_events, std::uint32_t repeated) {
  auto h = load<block_header>(block.data());
  h.events += more_events;
  h.repeated = repeated;
  seal_header(h);
  store(block.data(), h);
  return block;
}

TEST_F(repeated_events, and_others_are_counted_by_the_receiver_not_by_their_sender) {
  const bytes good = make_block({event_of(1)}, 9, 1);
  begin(9);
  for (const std::uint32_t more : {1U, 1'000'000U, ~0U}) {
    near_.send(link_message::block, 9, 1, with_header(good, more, 0));
    near_.expect(link_message::acknowledgement, 0);
  }
  bytes cut = event_of(1);
  cut.resize(cut.size() - 1);
  near_.send(link_message::block, 9, 1, make_block({cut}, 9, 1));
  near_.expect(link_message::acknowledgement, 0);
  EXPECT_EQ(far_.counters().damaged[block_fault::events], 4U);
  EXPECT_EQ(far_.counters().stored_events.get(), 0U);
  near_.send(link_message::block, 9, 1, with_header(good, 0, 1000));
  near_.expect(link_message::acknowledgement, 1);
  EXPECT_EQ(far_.counters().stored_events.get(), 1U);
  EXPECT_EQ(far_.counters().repeated_events.get(), 0U);
  far_.kill();
  const event_index index(folder_.path());
  ASSERT_EQ(index.sessions().size(), 1U);
  EXPECT_EQ(index.sessions()[0].repeated, 0U);
  EXPECT_EQ(index.damaged(), 0U);
}

/// It read them off the network, and was quicker.
} // namespace
} // namespace l3
