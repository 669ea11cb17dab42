// SPDX-License-Identifier: Apache-2.0
// Which events a receiver leaves out of blocks: those that another session has stored.
#include <gtest/gtest.h>

#include "receiver/block_receiver.hpp"
#include "tests/transport/outbox/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "transport/store/block.hpp"
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
