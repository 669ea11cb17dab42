// SPDX-License-Identifier: Apache-2.0
// Peers that use the number of a session that is not theirs. The number is known to everybody; the
// token is not.
#include <gtest/gtest.h>

#include "tests/transport/output/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "tests/transport/store/store_files.hpp"
#include "transport/link/session_token.hpp"
#include "transport/store/block_receiver.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

class a_session : public testing::Test {
protected:
  /// The owner's blocks have an event each, those of others are empty.
  static bytes block(std::uint64_t session, std::uint64_t sequence, bool full = true) {
    std::mt19937 random(static_cast<std::uint32_t>(sequence));
    event_recipe recipe;
    recipe.key = {1, static_cast<std::uint32_t>(sequence)};
    recipe.fragments = 1;
    std::vector<bytes> events;
    if (full) events.push_back(make_event(recipe, random).packed);
    return make_block(events, session, sequence);
  }
  void owner_stores(played_daemon& owner, std::uint64_t sequence) const {
    owner.send(link_message::block, session_, sequence, block(session_, sequence));
    owner.expect(link_message::acknowledgement, sequence);
  }
  /// A session of the peer's own, with a block.
  /// Everything that a peer may try in the name of the session.
  void attack(played_daemon& stranger, std::uint64_t next) const {
    stranger.send(link_message::block, session_, next, block(session_, next, false));
    stranger.expect_refusal("");
    stranger.hello(session_, 1);
    stranger.expect_refusal("has shown its token");
    stranger.hello(draw_session_token(), session_, 1'000'000);
    stranger.expect_refusal("not that of session");
    for (std::uint64_t n = next; n < next + 4; ++n) {
      stranger.send(link_message::block, session_, n, block(session_, n, false));
      stranger.expect_refusal("");
    }
    stranger.send(link_message::heartbeat, session_, next);
    stranger.expect_refusal("");
    stranger.send(link_message::goodbye, session_, next);
    stranger.expect_refusal("");
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
  const session_token token_ = draw_session_token();
  const std::uint64_t session_ = session_of(token_);
};

TEST_F(a_session, is_spoken_for_by_its_owner_alone) {
  played_daemon owner(far_.endpoint());
  played_daemon stranger(far_.endpoint());
  owner.hello(token_, session_, 1);
  owner.expect(link_message::welcome, 0);
  attack(stranger, 1);
  for (std::uint64_t n = 1; n <= 3; ++n) {
    owner_stores(owner, n);
    attack(stranger, n + 1);
  }
  EXPECT_EQ(far_.counters().goodbyes.get(), 0U);
  EXPECT_EQ(far_.counters().refused_hellos.get(), 8U);
  EXPECT_EQ(far_.counters().strangers.get(), 20U);
  EXPECT_EQ(far_.still_receiver().open_sessions(steady_clock::now()), 1U);
  far_.kill();
  EXPECT_EQ(stored(), (numbers{1, 2, 3}));
}

TEST_F(a_session, is_its_owners_after_a_restart_of_the_receiver) {
  {
    played_daemon owner(far_.endpoint());
    owner.hello(token_, session_, 1);
    owner.expect(link_message::welcome, 0);
    owner_stores(owner, 1);
  }
  far_.kill();
  far_.start();
  played_daemon stranger(far_.endpoint());
  attack(stranger, 2);
  played_daemon owner(far_.endpoint());
  owner.hello(token_, session_, 2);
  owner.expect(link_message::welcome, 1);
  owner_stores(owner, 2);
  far_.kill();
  EXPECT_EQ(stored(), (numbers{1, 2}));
}

/// It waits on its daemon's disk, and the receiver has never heard of it.
TEST_F(a_session, that_was_taken_before_its_owner_came_is_the_owners_again) {
  for (const bool restart : {false, true}) {
    played_daemon stranger(far_.endpoint());
    stranger.hello(session_, 1);
    stranger.expect(link_message::welcome, restart ? 3 : 0);
    for (std::uint64_t n = restart ? 4 : 1; n <= (restart ? 5 : 3); ++n) {
      stranger.send(link_message::block, session_, n, block(session_, n, false));
      stranger.expect(link_message::acknowledgement, n);
    }
    far_.kill();
    far_.start();
  }
  played_daemon stranger(far_.endpoint());
  stranger.hello(session_, 1);
  stranger.expect(link_message::welcome, 5);
  played_daemon owner(far_.endpoint());
  owner.hello(token_, session_, 1);
  owner.expect(link_message::welcome, 0);
  stranger.send(link_message::block, session_, 6, block(session_, 6, false));
  stranger.expect_refusal("");
  for (std::uint64_t n = 1; n <= 7; ++n) owner_stores(owner, n);
  far_.kill();
  far_.start();
  played_daemon again(far_.endpoint());
  again.hello(token_, session_, 1);
  again.expect(link_message::welcome, 7);
  far_.kill();
  EXPECT_EQ(stored(), (numbers{1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(a_session, may_have_several_connections_each_of_which_says_hello) {
  played_daemon first(far_.endpoint());
  played_daemon second(far_.endpoint());
  first.hello(token_, session_, 1);
  first.expect(link_message::welcome, 0);
  second.send(link_message::block, session_, 1, block(session_, 1));
  second.expect_refusal("");
  second.hello(token_, session_, 1);
  second.expect(link_message::welcome, 0);
  owner_stores(second, 1);
  owner_stores(first, 2);
  owner_stores(second, 3);
  // Beyond the most, the one that said hello first has to say it again.
  std::vector<std::unique_ptr<played_daemon>> more;
  for (std::size_t n = 0; n + 1 < link_peers::most_connections; ++n) {
    more.push_back(std::make_unique<played_daemon>(far_.endpoint()));
    more.back()->hello(token_, session_, 1);
    more.back()->expect(link_message::welcome, 3);
  }
  first.send(link_message::block, session_, 4, block(session_, 4));
  first.expect_refusal("");
  owner_stores(second, 4);
  first.hello(token_, session_, 5);
  first.expect(link_message::welcome, 4);
  owner_stores(first, 5);
  far_.kill();
  EXPECT_EQ(stored(), (numbers{1, 2, 3, 4, 5}));
}

TEST_F(a_session, ends_by_a_goodbye_only_if_something_was_stored) {
  played_daemon stranger(far_.endpoint());
  stranger.hello(token_, session_, 1);
  stranger.expect(link_message::welcome, 0);
  stranger.send(link_message::goodbye, session_, 0);
  stranger.hello(token_, session_, 1);
  stranger.expect(link_message::welcome, 0);
  EXPECT_EQ(far_.counters().goodbyes.get(), 0U);
  owner_stores(stranger, 1);
  stranger.send(link_message::goodbye, session_, 1);
  EXPECT_TRUE(eventually([&] { return far_.counters().goodbyes == 1; }));
}

TEST_F(a_session, has_no_number_that_could_not_be) {
  played_daemon owner(far_.endpoint());
  constexpr std::uint64_t too_high = std::uint64_t{1} << 63;
  static_assert(last_sequence == too_high - 1);
  for (const std::uint64_t number : {too_high, ~std::uint64_t{0}}) {
    owner.hello(token_, session_, number);
    owner.hello(token_, session_, 1);
    owner.expect(link_message::welcome, 0);
    owner.send(link_message::block, session_, number, block(session_, number, false));
    owner.send(link_message::heartbeat, session_, 0);
    owner.expect(link_message::acknowledgement, 0);
  }
  EXPECT_EQ(far_.counters().garbage.get(), 4U);
  // The last that may be is no trap either.
  owner.hello(token_, session_, last_sequence);
  owner.expect(link_message::welcome, 0);
  owner_stores(owner, last_sequence);
  owner.hello(token_, session_, last_sequence);
  owner.expect(link_message::welcome, last_sequence);
  EXPECT_EQ(far_.counters().unseen.get(), last_sequence - 1);
  const auto said = far_.said();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("blocks 1 to 9223372036854775806 were never seen here"), said[0].npos)
      << said[0];
}

TEST_F(a_session, that_is_attacked_without_end_costs_few_lines) {
  played_daemon owner(far_.endpoint());
  owner.hello(token_, session_, 1);
  owner.expect(link_message::welcome, 0);
  played_daemon stranger(far_.endpoint());
  for (int n = 0; n < 1000; ++n) {
    stranger.hello(session_, 1);
    stranger.expect_refusal("has shown its token");
  }
  EXPECT_EQ(far_.counters().refused_hellos.get(), 1000U);
  const auto said = far_.said();
  ASSERT_GE(said.size(), 1U);
  EXPECT_LE(said.size(), 5U);
  EXPECT_NE(said[0].find("refused a hello from address 127.0.0.1: session "), said[0].npos) << said[0];
}

} // namespace
} // namespace l3
