// SPDX-License-Identifier: Apache-2.0
// What a forwarder makes of a receiver's messages, without a connection.
#include "transport/output/delivery.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transport/link/link_message.hpp"

namespace l3 {
namespace {

constexpr std::uint64_t session = 7;

/// Ten blocks, of which three are stored.
class ten_blocks final : public block_source {
public:
  block_identity identity() const override { return {lane, 5, 1}; }
  bool is_remainder() const override { return remainder; }
  std::optional<held_block> hold(std::uint64_t) override { return std::nullopt; }
  bool is_held(std::uint64_t) const override { return held; }
  void stored_up_to(std::uint64_t sequence, std::uint64_t) override { told.push_back(sequence); }
  int wake_descriptor() const override { return -1; }
  void clear_wake() const override {}
  void wake() const override {}
  std::uint64_t last_sealed() const override { return 10; }
  std::uint64_t last_stored() const override { return told.back(); }

  std::uint64_t lane = session;
  bool remainder = false;
  bool held = false;
  std::vector<std::uint64_t> told{3};
};

class a_delivery : public testing::Test {
protected:
  void say(line_message type, std::uint64_t sequence, std::uint32_t credit = 4,
           std::string_view body = {}, std::uint64_t of = session) {
    delivery_.take(make_line_header(type, of, sequence, credit), body, now_);
  }
  void send_all() {
    while (delivery_.may_send_next()) delivery_.sent_next(1, now_);
  }
  using numbers = std::vector<std::uint64_t>;

  ten_blocks source_;
  std::vector<std::string> reports_;
  delivery delivery_{source_, "far",
                     [this](std::string_view text) { reports_.emplace_back(text); }};
  std::uint64_t now_ = 100;
};

TEST_F(a_delivery, begins_behind_what_is_stored_and_lets_as_much_go_as_was_sealed) {
  EXPECT_FALSE(delivery_.is_welcome());
  EXPECT_EQ(delivery_.next(), 4U);
  say(line_message::welcome, 5);
  EXPECT_TRUE(delivery_.is_welcome());
  EXPECT_EQ(delivery_.next(), 6U);
  send_all();
  EXPECT_EQ(delivery_.next(), 10U) << "four under way";
  say(line_message::acknowledgement, 11); // never made
  say(line_message::acknowledgement, ~std::uint64_t{0});
  say(line_message::acknowledgement, 4); // no news
  EXPECT_EQ(source_.told, (numbers{3, 5}));
  say(line_message::acknowledgement, 10);
  EXPECT_EQ(source_.told, (numbers{3, 5, 10}));
  EXPECT_EQ(delivery_.next(), 11U);
  EXPECT_EQ(delivery_.counters().acknowledged.get(), 7U);
}

TEST_F(a_delivery, has_credit_for_one_at_least) {
  say(line_message::welcome, 3, 0);
  send_all();
  EXPECT_EQ(delivery_.next(), 5U);
  say(line_message::acknowledgement, 4, 0);
  EXPECT_TRUE(delivery_.may_send_next());
}

TEST_F(a_delivery, takes_no_welcome_for_blocks_that_were_never_made) {
  say(line_message::welcome, 11);
  EXPECT_FALSE(delivery_.is_welcome());
  EXPECT_GT(delivery_.not_before(), now_);
  EXPECT_EQ(source_.told, numbers{3});
  source_.remainder = true; // the newest blocks may have been lost
  say(line_message::welcome, 11);
  EXPECT_TRUE(delivery_.is_welcome());
  EXPECT_EQ(source_.told, (numbers{3, 10}));
}

TEST_F(a_delivery, passes_over_what_is_said_to_another_lane) {
  say(line_message::welcome, 5, 4, {}, session + 1);
  EXPECT_FALSE(delivery_.is_welcome());
  EXPECT_EQ(delivery_.answered_at(), 0U);
  source_.lane = 0; // there is none now
  delivery_.begin_lane();
  say(line_message::welcome, 5, 4, {}, 0);
  EXPECT_FALSE(delivery_.is_welcome());
  EXPECT_EQ(source_.told, numbers{3});
}

TEST_F(a_delivery, tries_a_single_block_after_a_refusal_and_shows_its_text_as_a_line) {
  say(line_message::welcome, 3);
  send_all();
  say(line_message::refusal, 0, 0, "disk full\n2026-11-21 [info] all is well\x1b[2J");
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0], "the receiver refuses: disk full?2026-11-21 [info] all is well?[2J");
  EXPECT_GT(delivery_.not_before(), now_);
  EXPECT_EQ(delivery_.next(), 4U);
  send_all();
  EXPECT_EQ(delivery_.next(), 5U);
  say(line_message::refusal, 0, 0, std::string(60'000, 'x'));
  EXPECT_LT(reports_.back().size(), 500U);
  EXPECT_TRUE(delivery_.is_refused());
  say(line_message::acknowledgement, 3);
  EXPECT_TRUE(delivery_.is_refused()) << "no news";
  say(line_message::acknowledgement, 4);
  EXPECT_FALSE(delivery_.is_refused());
}

TEST_F(a_delivery, goes_back_after_silence_unless_the_block_has_not_left) {
  say(line_message::welcome, 3);
  send_all();
  delivery_.go_back_after(50, now_ + 49);
  EXPECT_EQ(delivery_.next(), 8U);
  source_.held = true;
  delivery_.go_back_after(50, now_ + 50);
  EXPECT_EQ(delivery_.next(), 8U);
  source_.held = false;
  delivery_.go_back_after(50, now_ + 99);
  EXPECT_EQ(delivery_.next(), 8U) << "it was asked a moment ago";
  delivery_.go_back_after(50, now_ + 100);
  EXPECT_EQ(delivery_.next(), 4U);
  send_all();
  EXPECT_EQ(delivery_.counters().resent.get(), 4U);
}

} // namespace
} // namespace l3
