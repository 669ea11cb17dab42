// SPDX-License-Identifier: Apache-2.0
// Both ends of the division of a line, line_shares and link_grant, in a world of their own: a clock
// that the test moves, messages that take their time or are lost, daemons that come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/link/link_message.hpp"
#include "transport/output/link_grant.hpp"
#include "transport/store/line_shares.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr double line_rate = 1e9; // bits a second
constexpr std::uint64_t block = 1 << 18;
constexpr std::uint64_t most_under_way = 64 * block;

template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

/// Messages in one direction, in order, each with the time at which it arrives.
template <class Message>
class way {
public:
  void put(const Message& m, time_point arrives) {
    if (!under_way_.empty()) arrives = std::max(arrives, under_way_.back().first);
    under_way_.emplace_back(arrives, m);
  }
  std::optional<Message> take(time_point now) {
    if (under_way_.empty() || under_way_.front().first > now) return std::nullopt;
    const Message m = under_way_.front().second;
    under_way_.pop_front();
    return m;
  }
  void clear() { under_way_.clear(); }

private:
  std::deque<std::pair<time_point, Message>> under_way_;
};

struct played_lane {
  std::uint64_t session = 0;
  line_user user;
  bool is_there = true;
  bool keeps_to_grants = true;
  double inflow = 0;      ///< bytes a second
  double waiting = 0;     ///< bytes
  std::uint64_t sent = 0; ///< bytes
  bit_rate own{};
  std::uint32_t weight = 1;
  std::unique_ptr<link_grant> grant = std::make_unique<link_grant>(1U);
  way<link_demand_body> demands;
  way<std::uint64_t> blocks;
  way<link_answer_body> grants;
};

class a_divided_line : public testing::Test {
protected:
  played_lane& add(std::uint32_t node, double inflow = 0, double waiting = 0) {
    played_lane& l = lanes_.emplace_back();
    l.session = lanes_.size();
    l.user = {"machine " + std::to_string(node), node};
    l.inflow = inflow;
    l.waiting = waiting;
    welcome(l);
    return l;
  }
  void welcome(played_lane& l) {
    const link_answer_body body = sealed(shares_->grant_of(l.session).value());
    l.grant->welcomed(bytes_of(body), now_);
  }
  time_point later() { return now_ + std::chrono::microseconds(delay_(random_)); }

  void step() {
    now_ += tick;
    for (played_lane& l : lanes_) {
      if (!l.is_there) continue;
      l.waiting += l.inflow * in_seconds(tick);
      while (const auto g = l.grants.take(now_)) l.grant->take(bytes_of(*g), now_);
      while (l.waiting >= block && (!l.keeps_to_grants || l.grant->wait(now_) == 0ns)) {
        l.grant->sent(block, now_);
        l.blocks.put(block, later());
        l.waiting -= block;
        l.sent += block;
      }
      const auto whole = static_cast<std::uint64_t>(l.waiting / block) * block;
      if (l.grant->demand_at(whole) > now_) continue;
      const auto d = l.grant->demand(whole, l.own, now_);
      if (!is_lost()) l.demands.put(d, later());
    }
    for (played_lane& l : lanes_) {
      bool answer = false;
      while (const auto d = l.demands.take(now_)) {
        shares_->demand(l.session, l.user, *d, now_);
        answer = true;
      }
      while (const auto b = l.blocks.take(now_)) {
        shares_->took(l.session, l.user, *b, most_under_way, now_);
        answer = true;
      }
      if (answer) tell(l);
    }
    for (const std::uint64_t session : shares_->divide(now_)) tell(lanes_[session - 1]);
    check();
  }
  void tell(played_lane& l) {
    const link_answer_body grant = sealed(shares_->grant_of(l.session).value());
    if (!is_lost()) l.grants.put(grant, later());
  }
  bool is_lost() { return std::uniform_real_distribution(0.0, 1.0)(random_) < loss_; }

  double in_force() {
    double all = 0;
    for (const played_lane& l : lanes_)
      if (l.is_there && l.grant->missing_for(now_) == 0ns) all += std::max(0.0, l.grant->granted());
    return all;
  }
  void check() {
    ASSERT_LE(in_force(), line_rate) << "at " << now_.time_since_epoch().count();
    ASSERT_LE(shares_->in_force(now_), line_rate);
  }
  void run(std::chrono::nanoseconds time) {
    for (const time_point end = now_ + time; now_ < end && !HasFatalFailure();) step();
  }
  /// Of the line, what went over it.
  double used(std::chrono::nanoseconds time) {
    std::uint64_t before = 0;
    for (const played_lane& l : lanes_) before += l.sent;
    run(time);
    std::uint64_t after = 0;
    for (const played_lane& l : lanes_) after += l.sent;
    return static_cast<double>(after - before) * 8 / in_seconds(time) / line_rate;
  }

  static constexpr auto tick = 1ms;
  std::optional<line_shares> shares_{std::in_place, bit_rate{line_rate}};
  std::deque<played_lane> lanes_;
  time_point now_{1h};
  double loss_ = 0;
  std::mt19937 random_{1};
  std::uniform_int_distribution<int> delay_{100, 500}; ///< us
};

constexpr double much = 1e12; ///< bytes that wait

TEST_F(a_divided_line, is_all_for_a_daemon_that_is_alone) {
  add(1, 0, much);
  run(100ms);
  EXPECT_GT(used(5s), 0.99);
}

TEST_F(a_divided_line, is_in_equal_parts_for_those_that_want_more) {
  for (std::uint32_t n = 0; n < 5; ++n) add(n, 0, much);
  run(1s);
  const double all = used(5s);
  EXPECT_GT(all, 0.98);
  EXPECT_LE(all, 1.0);
  for (const played_lane& l : lanes_)
    EXPECT_NEAR(l.grant->granted(), line_rate / 5, line_rate / 100);
}

TEST_F(a_divided_line, gives_what_one_does_not_use_to_the_other) {
  add(1, 0.1 * line_rate / 8);
  played_lane& much_to_send = add(2, 0, much);
  run(1s);
  const std::uint64_t before = much_to_send.sent;
  EXPECT_GT(used(10s), 0.97);
  EXPECT_GT(static_cast<double>(much_to_send.sent - before) * 8 / 10 / line_rate, 0.86);
  EXPECT_LT(lanes_[0].waiting, 40 * block) << "and what it needs it has";
}

/// Spills of 2 s every 4 s at four daemons, and one that always has something.
TEST_F(a_divided_line, is_used_though_what_daemons_have_comes_and_goes) {
  for (std::uint32_t n = 0; n < 4; ++n) add(n);
  add(9, 0, much);
  run(1s);
  double all = 0;
  for (int second = 0; second < 40; ++second) {
    for (std::size_t n = 0; n < 4; ++n)
      lanes_[n].inflow = second % 4 < 2 ? 0.15 * line_rate / 8 : 0;
    const double now = used(1s);
    EXPECT_LE(now, 1.0);
    all += now / 40;
  }
  EXPECT_GT(all, 0.97);
}

/// The same at other times at each: what is needed changes twice a second.
TEST_F(a_divided_line, is_used_though_what_daemons_have_changes_all_the_time) {
  for (std::uint32_t n = 0; n < 4; ++n) add(n);
  add(9, 0, much);
  run(1s);
  double all = 0;
  for (std::size_t second = 0; second < 40; ++second) {
    for (std::size_t n = 0; n < 4; ++n)
      lanes_[n].inflow = (second + n) % 4 < 2 ? 0.15 * line_rate / 8 : 0;
    const double now = used(1s);
    EXPECT_LE(now, 1.0);
    all += now / 40;
  }
  EXPECT_GT(all, 0.96);
}

TEST_F(a_divided_line, gives_the_part_of_a_dead_one_away_within_a_second) {
  add(1, 0, much);
  add(2, 0, much);
  run(1s);
  EXPECT_NEAR(lanes_[0].grant->granted(), line_rate / 2, line_rate / 50);
  lanes_[1].is_there = false;
  run(700ms);
  EXPECT_GT(lanes_[0].grant->granted(), 0.98 * line_rate);
}

TEST_F(a_divided_line, has_a_little_for_each_of_a_hundred) {
  for (std::uint32_t n = 0; n < 50; ++n) add(n);
  for (std::uint32_t n = 50; n < 100; ++n) add(n, 0, much);
  run(2s);
  for (const played_lane& l : lanes_)
    EXPECT_GT(l.grant->granted(), line_rate * 0.00004) << l.user.node;
  const double all = used(5s);
  EXPECT_GT(all, 0.97);
  EXPECT_LE(all, 1.0 + 50 * 8.0 * block / 5 / line_rate) << "each may begin or end a block";
  for (std::size_t n = 50; n < 100; ++n) EXPECT_GT(lanes_[n].sent, 0U) << n;
}

TEST_F(a_divided_line, counts_the_lanes_of_a_node_as_one) {
  add(1, 0, much).grant = std::make_unique<link_grant>(3U);
  add(1, 0, much);
  add(2, 0, much);
  welcome(lanes_[0]);
  run(1s);
  EXPECT_NEAR(lanes_[2].grant->granted(), line_rate / 2, line_rate / 50);
  EXPECT_NEAR(lanes_[0].grant->granted(), line_rate * 3 / 8, line_rate / 50);
  EXPECT_NEAR(lanes_[1].grant->granted(), line_rate / 8, line_rate / 50);
}

/// By a key or an address that it cannot choose.
TEST_F(a_divided_line, gives_a_liar_under_another_nodes_number_a_part_of_its_own) {
  add(1, 0, much);
  add(2, 0, much);
  played_lane& liar = add(1, 0, much);
  liar.user.peer = "another machine";
  liar.grant = std::make_unique<link_grant>(1'000'000U);
  welcome(liar);
  run(1s);
  for (const played_lane& l : lanes_)
    EXPECT_NEAR(l.grant->granted(), line_rate / 3, line_rate / 50) << l.session;
}

TEST_F(a_divided_line, is_not_had_by_saying_many_numbers) {
  add(1, 0, much);
  add(2, 0, much);
  for (std::uint32_t n = 10; n < 50; ++n) add(n, 0, much).user.peer = "one machine";
  run(2s);
  EXPECT_GT(lanes_[0].grant->granted(), 0.32 * line_rate);
  EXPECT_GT(lanes_[1].grant->granted(), 0.32 * line_rate);
  double liars = 0;
  for (std::size_t n = 2; n < lanes_.size(); ++n) liars += lanes_[n].grant->granted();
  EXPECT_NEAR(liars, line_rate / 3, line_rate / 30);
}

TEST_F(a_divided_line, grants_none_more_than_it_sends_at_most) {
  add(1, 0, much).own = {line_rate / 10};
  add(2, 0, much);
  run(1s);
  EXPECT_LE(lanes_[0].grant->granted(), line_rate / 10 + 1);
  EXPECT_GT(lanes_[1].grant->granted(), 0.88 * line_rate);
}

TEST_F(a_divided_line, holds_back_one_that_knows_no_grants) {
  add(1, 0, much);
  run(500ms);
  // It sends what it has credit for, at the rate of the whole line, and waits for acknowledgements.
  constexpr std::uint64_t old = 77;
  std::uint64_t under_way = 0;
  std::uint64_t sent = 0;
  double debt = 0; // of its own pace
  bool owed = false;
  const auto one_tick = [&] {
    step();
    debt = std::max(0.0, debt - line_rate / 8 * in_seconds(tick));
    const auto credit = shares_->credit_of(old, block).value_or(64);
    while (debt <= 0 && under_way < credit) {
      shares_->took(old, {"old", 5}, block, most_under_way, now_);
      debt += block;
      ++under_way;
      sent += block;
      owed = true;
    }
    if (owed && !shares_->holds_back(old, now_)) {
      under_way = 0;
      owed = false;
    }
  };
  for (int n = 0; n < 2000; ++n) one_tick();
  sent = 0;
  const std::uint64_t before = lanes_[0].sent;
  for (int n = 0; n < 5000; ++n) one_tick();
  const double its = static_cast<double>(sent) * 8 / 5 / line_rate;
  const double others = static_cast<double>(lanes_[0].sent - before) * 8 / 5 / line_rate;
  EXPECT_NEAR(its, 0.5, 0.05);
  EXPECT_LE(its + others, 1.01);
  EXPECT_FALSE(shares_->is_greedy(old, now_));
}

TEST_F(a_divided_line, knows_one_that_keeps_to_nothing) {
  add(1, 0, much);
  add(2, line_rate / 8).keeps_to_grants = false;
  run(2s);
  EXPECT_TRUE(shares_->is_greedy(2, now_));
  EXPECT_TRUE(shares_->holds_back(2, now_));
  EXPECT_FALSE(shares_->is_greedy(1, now_));
  EXPECT_FALSE(shares_->holds_back(1, now_));
  lanes_[1].keeps_to_grants = true;
  run(2s);
  EXPECT_FALSE(shares_->is_greedy(2, now_)) << "it has come to its senses";
}

TEST_F(a_divided_line, is_never_passed_whatever_becomes_of_messages_and_daemons) {
  for (unsigned seed = 1; seed <= 30 && !HasFatalFailure(); ++seed) {
    random_.seed(seed);
    lanes_.clear();
    shares_.emplace(bit_rate{line_rate});
    const auto pick = [&](int most) { return std::uniform_int_distribution(0, most)(random_); };
    delay_ = std::uniform_int_distribution<int>(0, 1000 * (1 + pick(200)));
    loss_ = 0.1 * pick(5);
    for (std::uint32_t n = 0; n < 6; ++n) add(n / 2, 0, much);
    for (int n = 0; n < 200 && !HasFatalFailure(); ++n) {
      played_lane& l = lanes_[static_cast<std::size_t>(pick(5))];
      switch (pick(9)) {
      case 0: l.is_there = false; break;
      case 1: // a new connection: what was under way is lost, or not
        l.is_there = true;
        if (pick(1) == 0) l.demands.clear();
        l.grants.clear();
        welcome(l);
        break;
      case 2: l.waiting = 0; break;
      case 3: l.waiting = much; break;
      case 4: run(std::chrono::milliseconds(pick(900))); break;
      case 5: // the thread of the receiver waits for its disk
        now_ += std::chrono::milliseconds(pick(1500));
        break;
      case 6: shares_->end(l.session), l.is_there = false; break;
      default: run(std::chrono::milliseconds(pick(60))); break;
      }
    }
    // Once all is well again, the line is used.
    loss_ = 0;
    delay_ = std::uniform_int_distribution<int>(100, 500);
    for (played_lane& l : lanes_) {
      l.is_there = true;
      l.waiting = much;
      welcome(l);
    }
    run(2s);
    EXPECT_GT(in_force(), 0.97 * line_rate) << "seed " << seed;
  }
}

TEST_F(a_divided_line, is_not_divided_without_a_rate) {
  line_shares none{bit_rate{}};
  EXPECT_FALSE(none.divides());
  none.took(1, {}, block, most_under_way, now_);
  EXPECT_FALSE(none.grant_of(1));
  EXPECT_FALSE(none.holds_back(1, now_));
  link_grant free(1U);
  free.welcomed({}, now_);
  EXPECT_EQ(free.wait(now_), 0ns);
  EXPECT_EQ(free.demand_at(block), never);
  EXPECT_LT(free.granted(), 0);
}

TEST_F(a_divided_line, takes_a_weight_of_16_at_most) {
  const auto share_of = [&](std::uint32_t weight) {
    lanes_.clear();
    shares_.emplace(bit_rate{line_rate});
    add(1, 0, much);
    played_lane& heavy = add(1, 0, much); // of the same daemon
    heavy.grant = std::make_unique<link_grant>(weight);
    welcome(heavy);
    run(2s);
    return lanes_[1].grant->granted() / (lanes_[0].grant->granted() + lanes_[1].grant->granted());
  };
  EXPECT_NEAR(share_of(15), 15.0 / 16, 0.002);
  EXPECT_NEAR(share_of(16), 16.0 / 17, 0.002);
  EXPECT_NEAR(share_of(17), 16.0 / 17, 0.002);
  EXPECT_NEAR(share_of(1'000'000), 16.0 / 17, 0.002);
}

TEST(a_grant, holds_for_10_s_at_most) {
  const time_point now{1h};
  for (const std::uint32_t said : {9'999U, 10'000U, 10'001U, 100'000U}) {
    link_grant g(1U);
    link_answer_body body;
    body.flags = answer_divides;
    g.welcomed(bytes_of(sealed(body)), now);
    (void)g.demand(block, {}, now);
    body.rate = 1'000'000'000;
    body.grant = 1;
    body.demand = 1;
    body.lease = said;
    g.take(bytes_of(sealed(body)), now);
    const auto holds = std::chrono::milliseconds(std::min(said, 10'000U));
    EXPECT_EQ(g.wait(now + holds - 1ms), 0ns) << said;
    EXPECT_GT(g.wait(now + holds), 0ns) << said;
  }
}

TEST(a_grant, that_is_damaged_or_of_another_connection_is_passed_over) {
  const time_point now{1h};
  link_grant g(1U);
  link_answer_body body;
  body.flags = answer_divides;
  g.welcomed(bytes_of(sealed(body)), now);
  EXPECT_GT(g.wait(now), 0ns) << "nothing goes before the first grant";
  (void)g.demand(block, {}, now);
  body.rate = 1'000'000'000;
  body.grant = 5;
  body.demand = 1;
  body.lease = 500;
  g.take(bytes_of(body), now);
  EXPECT_GT(g.wait(now), 0ns) << "no checksum";
  body.demand = 2;
  g.take(bytes_of(sealed(body)), now);
  EXPECT_GT(g.wait(now), 0ns) << "it answers what was not sent";
  body.demand = 1;
  g.take(bytes_of(sealed(body)), now);
  EXPECT_EQ(g.wait(now), 0ns);
  EXPECT_GT(g.wait(now + 501ms), 0ns) << "it has run out";
  body.grant = 4;
  body.rate = 2'000'000'000;
  g.take(bytes_of(sealed(body)), now);
  EXPECT_EQ(g.granted(), 1e9) << "an older one, overtaken";
  g.forget();
  g.welcomed(bytes_of(sealed(body)), now);
  g.take(bytes_of(sealed(body)), now + 1ms);
  EXPECT_EQ(g.granted(), 2e9) << "but the answer to the last demand may come again";
}

TEST(a_grant, that_is_another_one_in_each_answer_is_answered_once_a_millisecond) {
  time_point now{1h};
  link_grant g(1U);
  link_answer_body body;
  body.flags = answer_divides;
  g.welcomed(bytes_of(sealed(body)), now);
  body.rate = 1'000'000'000;
  body.lease = 500;
  int demands = 0;
  for (const time_point end = now + 100ms; now < end; now += 10us) { // a round trip
    if (g.demand_at(block) > now) continue;
    ++demands;
    body.demand = g.demand(block, {}, now).demand;
    ++body.grant;
    g.take(bytes_of(sealed(body)), now);
  }
  EXPECT_GE(demands, 90);
  EXPECT_LE(demands, 101);
}

} // namespace
} // namespace l3
