// SPDX-License-Identifier: Apache-2.0
// Daemons that share the line of one receiver, over loopback: what each may send, and that nothing
// is lost whatever the two ends know of grants.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/transport/output/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"

namespace l3::test {
namespace {

constexpr double megabit = 1e6;

receive_settings a_line_of(double rate) {
  receive_settings s;
  s.line = {rate};
  return s;
}

bytes block_of(std::uint32_t events, std::uint64_t session, std::uint64_t sequence,
               std::mt19937& random) {
  std::vector<bytes> all;
  for (std::uint32_t e = 0; e < events; ++e) {
    event_recipe recipe;
    recipe.key = {1, static_cast<std::uint32_t>(sequence) * events + e};
    recipe.fragments = 1;
    all.push_back(make_event(recipe, random).packed);
  }
  return make_block(all, session, sequence);
}

class a_shared_line : public testing::Test {
protected:
  scratch_folder folder_;
};

TEST_F(a_shared_line, is_granted_to_the_only_daemon_and_kept_to) {
  receiving_end far(folder_.path(), 64, a_line_of(80 * megabit));
  sending_end near(link_to(far.endpoint()));
  EXPECT_TRUE(eventually([&] { return near.sender.granted() > 79 * megabit; }));
  const auto begun = steady_clock::now();
  near.append(1, 1500);
  ASSERT_TRUE(near.all_stored());
  const double took = in_seconds(steady_clock::now() - begun);
  const auto sent = static_cast<double>(near.sender.counters().bytes.get());
  const auto last_block = static_cast<double>(small_blocks().block.bytes);
  const double most = 80 * megabit / 8 * (took + in_seconds(link_grant::burst)) + last_block;
  EXPECT_LE(sent, most) << "in " << took << " s";
  EXPECT_EQ(far.counters().over_grant.get(), 0U);
}

TEST_F(a_shared_line, is_halved_for_two_and_whole_again_for_the_one_that_stays) {
  receiving_end far(folder_.path(), 64, a_line_of(40 * megabit));
  sending_end stays(link_to(far.endpoint()));
  {
    sending_end goes(link_to(far.endpoint()), 0, {0x99, 5, 2});
    EXPECT_TRUE(eventually([&] {
      return stays.sender.granted() > 0 && stays.sender.granted() < 21 * megabit &&
             goes.sender.granted() > 19 * megabit;
    })) << stays.sender.granted()
        << " and " << goes.sender.granted();
    goes.append(1, 100);
    stays.append(1, 100);
    EXPECT_TRUE(goes.all_stored());
  }
  EXPECT_TRUE(eventually([&] { return stays.sender.granted() > 39 * megabit; }));
  EXPECT_TRUE(stays.all_stored());
}

TEST_F(a_shared_line, of_a_receiver_that_grants_nothing_is_the_daemons_own_matter) {
  receiving_end far(folder_.path());
  sending_end near(link_to(far.endpoint()), 50);
  ASSERT_TRUE(near.all_stored());
  EXPECT_LT(near.sender.granted(), 0);
}

TEST_F(a_shared_line, is_forgotten_with_the_receiver_that_divided_it) {
  receive_settings s = a_line_of(10 * megabit);
  receiving_end divides(folder_.path(), 64, s);
  sending_end near(link_to(divides.endpoint()), 20);
  EXPECT_TRUE(eventually([&] { return near.sender.granted() > 9 * megabit; }));
  s.bind = divides.endpoint();
  divides.kill();
  s.line = {};
  receiving_end grants_nothing(folder_.path(), 64, s);
  near.append(100, 120);
  EXPECT_TRUE(near.all_stored());
  EXPECT_LT(near.sender.granted(), 0);
}

TEST_F(a_shared_line, slows_a_daemon_that_knows_no_grants_by_its_acknowledgements) {
  receiving_end far(folder_.path(), 64, a_line_of(10 * megabit));
  played_daemon old(far.endpoint());
  old.hello(7, 1);
  old.expect(link_message::welcome, 0);
  const auto begun = steady_clock::now();
  constexpr std::uint64_t blocks = 12;
  std::size_t bytes_sent = 0;
  std::mt19937 random(1);
  for (std::uint64_t n = 1; n <= blocks; ++n) {
    const auto body = block_of(100, 7, n, random);
    bytes_sent += body.size();
    old.send(link_message::block, 7, n, body);
    old.expect(link_message::acknowledgement, n);
  }
  const double took = in_seconds(steady_clock::now() - begun);
  const double of_line = static_cast<double>(bytes_sent) * 8 / took / (10 * megabit);
  EXPECT_LT(of_line, 1.15) << "the first block goes before anything is known of it";
  EXPECT_EQ(far.counters().over_grant.get(), 0U);
}

/// Called when the disk is asked to confirm what it took.
std::function<void()> while_the_disk_writes;

/// A commit may last longer than a grant.
TEST_F(a_shared_line, is_granted_before_the_disk_has_confirmed) {
  // Block and demand must be there for one step: as often as it takes.
  EXPECT_TRUE(eventually([&] {
    scratch_folder folder;
    store_settings settings{folder.path()};
    settings.sync = true;
    settings.flush = [](int) {
      std::exchange(while_the_disk_writes, [] {})();
      return 0;
    };
    while_the_disk_writes = [] {};
    store_writer kept(settings);
    receive_settings here = a_line_of(80 * megabit);
    here.bind = "tcp://127.0.0.1:*";
    block_receiver far(here, kept, nullptr);
    played_daemon near(far.endpoint());
    near.hello(9, 1);
    while (far.counters().messages == 0) (void)far.step(5ms);
    near.expect(link_message::welcome, 0);
    std::mt19937 random(1);
    near.send(link_message::block, 9, 1, block_of(1, 9, 1, random));
    const link_demand_body wanted = sealed(link_demand_body{1 << 20, 0, 1, 0, 1, 0});
    bytes body(sizeof wanted);
    l3::store(body.data(), wanted);
    near.send(link_message::heartbeat, 9, 0, body);
    bool asked = false;
    while_the_disk_writes = [&] {
      asked = far.counters().messages == 3;
      if (asked) near.expect(link_message::acknowledgement, 0);
    };
    while (far.counters().messages == 1) (void)far.step(5ms);
    while_the_disk_writes = [] {};
    if (!asked) return false;
    near.expect(link_message::acknowledgement, 1);
    return true;
  }));
}

} // namespace
} // namespace l3::test
