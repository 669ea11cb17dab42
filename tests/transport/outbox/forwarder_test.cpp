// SPDX-License-Identifier: Apache-2.0
// A forwarder against a receiver that the test plays.
#include "transport/outbox/forwarder.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <zmq.hpp>

#include "tests/transport/outbox/link_ends.hpp"
#include "transport/link/link_message.hpp"
#include "transport/store/block.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// The ROUTER side by hand.
class played_receiver {
public:
  played_receiver() {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo,
                static_cast<int>(std::chrono::milliseconds(patience).count()));
    socket_.bind("tcp://127.0.0.1:*");
  }
  [[nodiscard]] std::string endpoint() const { return socket_.get(zmq::sockopt::last_endpoint); }

  struct message {
    link_header header;
    bytes body;
  };
  /// The next message that is no heartbeat; fails the test if none comes.
  message take() {
    while (true) {
      const auto m = receive();
      if (!m) {
        ADD_FAILURE() << "no message came";
        return {};
      }
      if (m->header.type != link_message::heartbeat) return *m;
    }
  }
  void answer(link_message type, std::uint64_t sequence, std::uint32_t credit,
              std::string_view body = {}) {
    const auto h = make_link_header(type, identity.session, sequence, credit);
    socket_.send(zmq::buffer(address_), zmq::send_flags::sndmore);
    socket_.send(zmq::buffer(&h, sizeof h), zmq::send_flags::sndmore);
    socket_.send(zmq::buffer(body), zmq::send_flags::none);
  }
  /// Stores block by block all that there is, beginning with this one, which came.
  void store_rest(sending_end& near, std::uint64_t came, std::uint32_t credit) {
    answer(link_message::acknowledgement, came, credit);
    while (came < near.box.last_sealed()) {
      const auto m = take();
      if (m.header.type != link_message::block) return ADD_FAILURE() << "no block";
      came = std::max(came, m.header.sequence);
      answer(link_message::acknowledgement, came, credit);
    }
  }
  void expect_block(std::uint64_t sequence) {
    const auto m = take();
    EXPECT_EQ(m.header.type, link_message::block);
    EXPECT_EQ(m.header.sequence, sequence);
    block_header b;
    EXPECT_EQ(check_block(m.body, b), block_fault::none);
    EXPECT_EQ(b.sequence, sequence);
  }

private:
  std::optional<message> receive() {
    zmq::message_t address, head, body;
    if (!socket_.recv(address) || !socket_.recv(head) || !socket_.recv(body)) return std::nullopt;
    address_ = address.to_string();
    const auto header = read_link_header({head.data<std::byte>(), head.size()});
    EXPECT_TRUE(header && !body.more());
    if (!header) return std::nullopt;
    const auto* const bytes = body.data<std::byte>();
    return message{*header, {bytes, bytes + body.size()}};
  }

  zmq::context_t context_{1};
  zmq::socket_t socket_{context_, zmq::socket_type::router};
  std::string address_;
};

/// A lane of which all is stored, and behind it another.
class two_lanes : public block_source {
public:
  [[nodiscard]] lane_state lane() const override {
    return at_second_ ? lane_state{{0x88, 5, 1}, 9, 9} : lane_state{identity, 3, 3};
  }
  [[nodiscard]] bool next_lane() override { return ended_ && !std::exchange(at_second_, true); }
  [[nodiscard]] held_block hold(std::uint64_t) override { return {}; }
  void stored_up_to(std::uint64_t, time_point) override {}
  void end_first() {
    ended_ = true;
    bell().wake();
  }

private:
  std::atomic<bool> ended_{false};
  bool at_second_ = false;
};

TEST(forwarder, says_goodbye_for_the_lane_that_ended) {
  played_receiver far;
  two_lanes source;
  link_pace pace{bit_rate{0}};
  forwarder sender(link_to(far.endpoint(), 1h), source, pace, link_pace::share::fresh,
                   [](const auto&) {});
  std::jthread thread([&](const std::stop_token& stop) { sender.run(stop, 0ns); });
  EXPECT_EQ(far.take().header.session, identity.session);
  far.answer(link_message::welcome, 3, 8);
  ASSERT_TRUE(eventually([&] { return sender.connected(); }));
  source.end_first();
  const auto goodbye = far.take();
  EXPECT_EQ(goodbye.header.type, link_message::goodbye);
  EXPECT_EQ(goodbye.header.session, identity.session);
  EXPECT_EQ(goodbye.header.sequence, 3U);
  const auto hello = far.take();
  EXPECT_EQ(hello.header.type, link_message::hello);
  EXPECT_EQ(hello.header.session, 0x88U);
  EXPECT_EQ(hello.header.sequence, 10U);
}

TEST(forwarder, sends_again_what_is_not_acknowledged) {
  played_receiver far;
  sending_end near(link_to(far.endpoint(), 50ms), 200);
  (void)far.take();
  far.answer(link_message::welcome, 0, 2);
  far.expect_block(1);
  far.expect_block(2);
  far.expect_block(1); // silence: go back
  far.store_rest(near, 2, 2);
  EXPECT_TRUE(near.all_stored());
  EXPECT_GE(near.sender.counters().resent.get(), 1U);
}

TEST(forwarder, says_hello_again_to_a_receiver_that_forgot_it) {
  played_receiver far;
  sending_end near(link_to(far.endpoint(), 1h), 200);
  (void)far.take();
  far.answer(link_message::welcome, 0, 1);
  far.expect_block(1);
  far.answer(link_message::acknowledgement, 1, 1);
  far.expect_block(2);
  far.answer(link_message::refusal, 0, 0); // of empty body
  const auto hello = far.take();
  EXPECT_EQ(hello.header.type, link_message::hello);
  EXPECT_EQ(hello.header.sequence, 2U) << "the first that it still holds";
  far.answer(link_message::welcome, 1, 8);
  far.expect_block(2);
  far.store_rest(near, 2, 8);
  EXPECT_TRUE(near.all_stored());
}

TEST(forwarder, takes_its_turns_when_nobody_is_there) {
  sending_end near(link_to("tcp://127.0.0.1:9"), 0);
  const std::uint64_t before = near.sender.turns();
  EXPECT_TRUE(eventually([&] { return near.sender.turns() > before + 1; }));
}

TEST(forwarder, names_the_way_whose_receiver_has_no_address_until_another_way_is_welcome) {
  const std::string unknown = "tcp://" + std::string(64, 'x') + ":9";
  played_receiver far;
  auto settings = link_to(far.endpoint());
  settings.from = {{"", ""}, {"", unknown}};
  sending_end near(settings, 0);
  EXPECT_TRUE(eventually([&] { return near.sender.unknown().has_value(); }));
  EXPECT_EQ(near.sender.unknown()->endpoint, unknown);
  EXPECT_EQ(near.sender.unknown()->key, "forward.from");
  EXPECT_TRUE(near.reported("has no address on this machine: " + near.sender.unknown()->why));
  EXPECT_EQ(far.take().header.type, link_message::hello);
  far.answer(link_message::welcome, 0, 1);
  EXPECT_TRUE(eventually([&] { return !near.sender.unknown().has_value(); }));
}

} // namespace
} // namespace l3
