// SPDX-License-Identifier: Apache-2.0
// A session at the receiver: hellos over several connections, goodbyes, numbers.
#include <gtest/gtest.h>

#include "tests/transport/output/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "tests/transport/store/store_files.hpp"
#include "transport/store/block_receiver.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

class a_session : public testing::Test {
protected:
  static bytes block(std::uint64_t session, std::uint64_t sequence) {
    std::mt19937 random(static_cast<std::uint32_t>(sequence));
    event_recipe recipe;
    recipe.key = {1, static_cast<std::uint32_t>(sequence)};
    recipe.fragments = 1;
    return make_block({make_event(recipe, random).packed}, session, sequence);
  }
  void owner_stores(played_daemon& owner, std::uint64_t sequence) const {
    owner.send(link_message::block, session_, sequence, block(session_, sequence));
    owner.expect(link_message::acknowledgement, sequence);
  }
  /// Numbers of the blocks with events.
  [[nodiscard]] std::vector<std::uint64_t> stored() const {
    store_reader reader(folder_.path());
    std::vector<std::uint64_t> all;
    while (const auto b = reader.next())
      if (b->header.session == session_ && b->header.events != 0) all.push_back(b->header.sequence);
    return all;
  }
  using numbers = std::vector<std::uint64_t>;

  scratch_folder folder_;
  receiving_end far_{folder_.path()};
  const std::uint64_t session_ = 9;
};

TEST_F(a_session, may_have_several_connections_each_of_which_says_hello) {
  played_daemon first(far_.endpoint());
  played_daemon second(far_.endpoint());
  first.hello(session_, 1);
  first.expect(link_message::welcome, 0);
  second.send(link_message::block, session_, 1, block(session_, 1));
  second.expect_refusal("");
  second.hello(session_, 1);
  second.expect(link_message::welcome, 0);
  owner_stores(second, 1);
  owner_stores(first, 2);
  owner_stores(second, 3);
  // Beyond the most, the one that said hello first has to say it again.
  std::vector<std::unique_ptr<played_daemon>> more;
  for (std::size_t n = 0; n + 1 < link_peers::most_connections; ++n) {
    more.push_back(std::make_unique<played_daemon>(far_.endpoint()));
    more.back()->hello(session_, 1);
    more.back()->expect(link_message::welcome, 3);
  }
  first.send(link_message::block, session_, 4, block(session_, 4));
  first.expect_refusal("");
  owner_stores(second, 4);
  first.hello(session_, 5);
  first.expect(link_message::welcome, 4);
  owner_stores(first, 5);
  far_.kill();
  EXPECT_EQ(stored(), (numbers{1, 2, 3, 4, 5}));
}

TEST_F(a_session, ends_by_a_goodbye_only_if_something_was_stored) {
  played_daemon owner(far_.endpoint());
  owner.hello(session_, 1);
  owner.expect(link_message::welcome, 0);
  owner.send(link_message::goodbye, session_, 0);
  owner.hello(session_, 1);
  owner.expect(link_message::welcome, 0);
  EXPECT_EQ(far_.counters().goodbyes.get(), 0U);
  owner_stores(owner, 1);
  owner.send(link_message::goodbye, session_, 1);
  EXPECT_TRUE(eventually([&] { return far_.counters().goodbyes == 1; }));
}

TEST_F(a_session, has_no_number_that_could_not_be) {
  played_daemon owner(far_.endpoint());
  constexpr std::uint64_t too_high = std::uint64_t{1} << 63;
  static_assert(last_sequence == too_high - 1);
  for (const std::uint64_t number : {too_high, ~std::uint64_t{0}}) {
    owner.hello(session_, number);
    owner.hello(session_, 1);
    owner.expect(link_message::welcome, 0);
    owner.send(link_message::block, session_, number, block(session_, number));
    owner.send(link_message::heartbeat, session_, 0);
    owner.expect(link_message::acknowledgement, 0);
  }
  EXPECT_EQ(far_.counters().garbage.get(), 4U);
  // The last that may be is no trap either.
  owner.hello(session_, last_sequence);
  owner.expect(link_message::welcome, 0);
  owner_stores(owner, last_sequence);
  owner.hello(session_, last_sequence);
  owner.expect(link_message::welcome, last_sequence);
  EXPECT_TRUE(far_.said().empty()) << "what a daemon says of its first block needs no list";
}

} // namespace
} // namespace l3
