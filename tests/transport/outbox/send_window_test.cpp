// SPDX-License-Identifier: Apache-2.0
// What a forwarder makes of a receiver's messages, without a connection.
#include "transport/outbox/send_window.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transport/link/link_message.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t session = 7;

/// Ten blocks, of which three are stored.
class ten_blocks final : public block_source {
public:
  lane_state lane() const override {
    return {{session_of_lane, 5, 1}, last, told.back(), possibly_sent};
  }
  held_block hold(std::uint64_t) override { return {}; }
  void stored_up_to(std::uint64_t sequence, time_point) override { told.push_back(sequence); }

  std::uint64_t session_of_lane = session;
  std::uint64_t last = 10;
  std::uint64_t possibly_sent = 5; ///< by an earlier process
  std::vector<std::uint64_t> told{3};
};

class a_send_window : public testing::Test {
protected:
  void say(link_message type, std::uint64_t sequence, std::uint32_t credit = 4,
           std::string_view body = {}, std::uint64_t of = session) {
    window_.take(make_link_header(type, of, sequence, credit), body, now_);
  }
  void send_all() {
    while (window_.may_send_next()) window_.sent({{}, in_memory_}, now_);
  }
  using numbers = std::vector<std::uint64_t>;

  ten_blocks source_;
  std::vector<std::string> reports_;
  send_window window_{source_, "far",
                      [this](std::string_view text) { reports_.emplace_back(text); }};
  std::shared_ptr<const int> in_memory_; ///< of all blocks sent
  time_point now_{100ns};
};

TEST_F(a_send_window, begins_behind_what_is_stored_and_lets_as_much_go_as_was_sent) {
  EXPECT_FALSE(window_.is_welcome());
  EXPECT_EQ(window_.next(), 4U);
  say(link_message::welcome, 5);
  EXPECT_TRUE(window_.is_welcome());
  EXPECT_EQ(window_.next(), 6U);
  send_all();
  EXPECT_EQ(window_.next(), 10U) << "four under way";
  say(link_message::acknowledgement, 11); // never made
  say(link_message::acknowledgement, ~std::uint64_t{0});
  say(link_message::acknowledgement, 4); // no news
  EXPECT_EQ(source_.told, (numbers{3, 5}));
  say(link_message::acknowledgement, 9);
  EXPECT_EQ(source_.told, (numbers{3, 5, 9}));
  EXPECT_EQ(window_.next(), 10U);
  EXPECT_EQ(window_.counters().acknowledged.get(), 6U);
}

TEST_F(a_send_window, believes_nothing_that_was_not_sent) {
  for (const std::uint64_t claim : {6ULL, 10ULL, 11ULL, 1ULL << 63, ~0ULL}) {
    say(link_message::welcome, claim);
    EXPECT_FALSE(window_.is_welcome());
    EXPECT_GT(window_.not_before(), now_);
    EXPECT_TRUE(window_.is_wrong());
  }
  say(link_message::acknowledgement, 6);
  EXPECT_EQ(source_.told, numbers{3});
  say(link_message::welcome, 4);
  EXPECT_FALSE(window_.is_wrong());
  send_all();
  say(link_message::acknowledgement, 9);
  EXPECT_TRUE(window_.is_wrong()) << "up to 8 they were sent";
  EXPECT_EQ(source_.told, (numbers{3, 4}));
  say(link_message::acknowledgement, 8);
  EXPECT_EQ(source_.told, (numbers{3, 4, 8}));
  EXPECT_EQ(window_.counters().impossible.get(), 7U);
  ASSERT_FALSE(reports_.empty());
  EXPECT_EQ(reports_[0], "the receiver claims to have blocks up to 6, but no block after 5 was "
                         "ever sent: all blocks are kept");
}

/// The newest blocks on its disk may have been lost since they were sent.
TEST_F(a_send_window, believes_a_receiver_that_has_more_of_an_earlier_lane_than_there_is) {
  source_.possibly_sent = 20;
  say(link_message::welcome, 21);
  EXPECT_FALSE(window_.is_welcome());
  say(link_message::welcome, 20);
  EXPECT_TRUE(window_.is_welcome());
  EXPECT_EQ(source_.told, (numbers{3, 10}));
}

TEST_F(a_send_window, gives_and_takes_a_credit_of_one_to_1024) {
  source_.last = 10'000;
  for (const auto& [given, sent] : {std::pair(0U, 1U), {7U, 7U}, {~0U, 1024U}}) {
    say(link_message::welcome, 3, given);
    send_all();
    EXPECT_EQ(window_.next(), 4U + sent);
  }
}

TEST_F(a_send_window, goes_on_with_a_receiver_that_stores_elsewhere) {
  say(link_message::welcome, 0);
  EXPECT_TRUE(window_.is_welcome());
  EXPECT_EQ(window_.next(), 4U);
  EXPECT_EQ(source_.told, numbers{3});
  EXPECT_EQ(
      reports_,
      std::vector<std::string>{
          "the receiver no longer has blocks that it acknowledged: it may use another store now"});
}

TEST_F(a_send_window, passes_over_what_is_said_to_another_lane) {
  say(link_message::welcome, 5, 4, {}, session + 1);
  EXPECT_FALSE(window_.is_welcome());
  EXPECT_EQ(window_.answered_at(), time_point());
  source_.session_of_lane = 0; // there is none now
  window_.begin_lane();
  say(link_message::welcome, 5, 4, {}, 0);
  EXPECT_FALSE(window_.is_welcome());
  EXPECT_EQ(source_.told, numbers{3});
}

TEST_F(a_send_window, tries_a_single_block_after_a_refusal_and_shows_its_text_as_a_line) {
  say(link_message::welcome, 3);
  send_all();
  say(link_message::refusal, 0, 0, "disk full\n2026-11-21 [info] all is well\x1b[2J");
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0], "the receiver refuses: disk full?2026-11-21 [info] all is well?[2J");
  EXPECT_GT(window_.not_before(), now_);
  EXPECT_EQ(window_.next(), 4U);
  send_all();
  EXPECT_EQ(window_.next(), 5U);
  say(link_message::refusal, 0, 0, std::string(60'000, 'x'));
  EXPECT_EQ(reports_.back(), "the receiver refuses: " + std::string(400, 'x'));
  EXPECT_TRUE(window_.is_refused());
  say(link_message::acknowledgement, 3);
  EXPECT_TRUE(window_.is_refused()) << "no news";
  say(link_message::acknowledgement, 4);
  EXPECT_FALSE(window_.is_refused());
}

TEST_F(a_send_window, goes_back_after_silence_unless_the_block_has_not_left) {
  in_memory_ = std::make_shared<int>();
  say(link_message::welcome, 3);
  send_all();
  window_.go_back_after(50ns, now_ + 49ns);
  EXPECT_EQ(window_.next(), 8U);
  window_.go_back_after(50ns, now_ + 50ns);
  EXPECT_EQ(window_.next(), 8U);
  in_memory_.reset();
  window_.go_back_after(50ns, now_ + 99ns);
  EXPECT_EQ(window_.next(), 8U) << "it was asked a moment ago";
  window_.go_back_after(50ns, now_ + 100ns);
  EXPECT_EQ(window_.next(), 4U);
  send_all();
  EXPECT_EQ(window_.counters().resent.get(), 4U);
}

/// A receiver that takes messages and stores nothing is not sent all of them every two seconds.
TEST_F(a_send_window, waits_longer_before_each_further_copy_and_for_a_word_of_the_receiver) {
  const auto copies_until = [&](std::chrono::nanoseconds end) {
    int copies = 0;
    for (const time_point stop = now_ + end; now_ < stop; now_ += 10ns) {
      window_.go_back_after(50ns, now_);
      if (window_.next() == 8U) continue;
      ++copies;
      send_all();
      now_ += 1ns;
      say(link_message::acknowledgement, 3); // no news
    }
    return copies;
  };
  say(link_message::welcome, 3);
  send_all();
  const int copies = copies_until(10us);
  EXPECT_GE(copies, 14);
  EXPECT_LE(copies, 15) << "after 50, 150, 350, 750, 1550, then every 800 ns";
}

TEST_F(a_send_window, shows_a_block_that_a_receiver_reads_again_and_again_and_does_not_take) {
  say(link_message::welcome, 3);
  for (int sent = 1; sent <= 3; ++sent) {
    send_all();
    now_ += 1ns;
    say(link_message::acknowledgement, 3); // no news
    EXPECT_FALSE(window_.is_refused()) << sent;
    now_ = window_.go_back_at(50ns);
    window_.go_back_after(50ns, now_);
  }
  EXPECT_TRUE(window_.is_refused());
  EXPECT_EQ(reports_, std::vector<std::string>{
                          "the receiver answers but does not accept block 4 of session "
                          "0000000000000007, which was sent 3 times: check the receiver's log"});
  send_all();
  say(link_message::acknowledgement, 4);
  EXPECT_FALSE(window_.is_refused());
}

TEST_F(a_send_window, sends_no_third_copy_before_the_second_was_read) {
  say(link_message::welcome, 3);
  send_all();
  const auto copies = [&] {
    int went = 0;
    for (int i = 0; i < 1000; ++i, now_ += 10ns) {
      window_.go_back_after(50ns, now_);
      if (window_.next() == 8U) continue;
      ++went;
      send_all();
    }
    return went;
  };
  EXPECT_EQ(copies(), 1);
  EXPECT_EQ(copies(), 0);
  say(link_message::acknowledgement, 3);
  EXPECT_EQ(copies(), 1);
}

} // namespace
} // namespace l3
