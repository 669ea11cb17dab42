// SPDX-License-Identifier: Apache-2.0
// A receiver and a peer that sends as much as it may, and then one byte, message or block more.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <thread>

#include "receiver/block_receiver.hpp"
#include "tests/transport/link/stranger.hpp"
#include "tests/transport/outbox/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "transport/store/block.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr char is_more = 1, is_long = 2, is_command = 4;
constexpr std::uint64_t session = 9;

std::string frame_head(char flags, std::uint64_t bytes) {
  std::string head(1, static_cast<char>(flags | is_long));
  for (int shift = 56; shift >= 0; shift -= 8) head += static_cast<char>(bytes >> shift & 0xff);
  return head;
}

std::string frame(char flags, const bytes& content) {
  return frame_head(flags, content.size()) +
         std::string(reinterpret_cast<const char*>(content.data()), content.size());
}

/// Speaks ZeroMQ's protocol by hand.
class raw_daemon : public stranger {
public:
  explicit raw_daemon(const std::string& endpoint) : stranger(endpoint) {
    std::string opening = "\xff" + std::string(8, '\0') + "\x7f\3" + '\0' + "NULL";
    opening.resize(64);
    const std::string ready = "\x05READY\x0bSocket-Type" + std::string(3, '\0') + "\x06" + "DEALER";
    opening += std::string(1, is_command) + static_cast<char>(ready.size()) + ready;
    say(opening);
    // Its own greeting and READY: before, it takes no frame of a message.
    EXPECT_EQ(hear(64).size(), 64U);
    const std::string head = hear(2);
    const std::size_t rest = head.size() == 2 ? static_cast<unsigned char>(head[1]) : 0;
    EXPECT_GT(rest, 0U);
    EXPECT_EQ(hear(rest).size(), rest);
  }
  void hello() {
    const link_header h = make_link_header(link_message::hello, session, 1);
    say(frame(is_more, played_daemon::header_bytes(h)) + frame(0, bytes(sizeof(link_hello_body))));
  }
};

bytes block_of(std::uint64_t sequence) {
  std::mt19937 random(1);
  event_recipe recipe;
  recipe.key = {1, static_cast<std::uint32_t>(sequence)};
  recipe.oddities = false;
  return make_block({make_event(recipe, random).packed}, session, sequence);
}

TEST(a_receiver, gives_a_handshake_3_s) {
  scratch_folder folder;
  receiving_end far(folder.path());
  const auto begun = steady_clock::now();
  const stranger half(far.endpoint());
  half.say("\xff");
  EXPECT_TRUE(half.is_left(6s));
  EXPECT_GE(steady_clock::now() - begun, 3s);
}

TEST(a_receiver, takes_a_frame_of_64_mib_and_none_that_is_longer) {
  scratch_folder folder;
  receiving_end far(folder.path());
  const std::uint64_t most = (64 << 20) + sizeof(block_header);
  for (const std::uint64_t more : {0, 1}) {
    raw_daemon peer(far.endpoint());
    const auto messages = far.counters().messages.get();
    peer.hello();
    ASSERT_TRUE(eventually([&] { return far.counters().messages.get() > messages; }));
    peer.say(frame_head(0, most + more));
    EXPECT_EQ(peer.is_left(more == 0 ? 300ms : 10s), more > 0) << more;
  }
}

/// The system holds some more.
TEST(a_receiver, has_160_messages_of_a_connection_waiting) {
  constexpr int most = 160;
  scratch_folder folder;
  store_writer store({folder.path()});
  receive_settings settings;
  settings.bind = "tcp://127.0.0.1:*";
  block_receiver far(settings, store, nullptr);
  zmq::context_t context(1);
  zmq::socket_t peer(context, zmq::socket_type::dealer);
  peer.set(zmq::sockopt::linger, 0);
  peer.set(zmq::sockopt::sndhwm, 1);
  peer.connect(far.endpoint());
  peer.send(
      zmq::buffer(played_daemon::header_bytes(make_link_header(link_message::hello, session, 1))),
      zmq::send_flags::sndmore);
  peer.send(zmq::buffer(bytes(sizeof(link_hello_body))));
  ASSERT_TRUE(eventually([&] {
    (void)far.step(5ms);
    return far.counters().messages.get() == 1;
  }));
  const bytes large(1 << 20);
  const auto is_taken = [&] {
    zmq_pollitem_t item{peer.handle(), 0, ZMQ_POLLOUT, 0};
    return zmq_poll(&item, 1, 2000) == 1 &&
           peer.send(zmq::buffer(large), zmq::send_flags::dontwait).has_value();
  };
  int taken = 0;
  while (taken < 2 * most && is_taken()) ++taken;
  EXPECT_GE(taken, most);
  EXPECT_LT(taken, 2 * most);
}

TEST(a_receiver, keeps_early_blocks_in_a_quarter_of_the_memory_for_messages_that_wait) {
  const std::uint64_t bytes_of_two = 2 * block_of(3).size();
  for (const std::uint64_t less : {0, 1}) {
    scratch_folder folder;
    receive_settings settings;
    settings.waiting = {4 * (bytes_of_two - less)};
    receiving_end far(folder.path(), 8, settings);
    played_daemon one(far.endpoint());
    played_daemon other(far.endpoint());
    for (auto* const daemon : {&one, &other}) {
      daemon->hello(session, 1);
      daemon->expect(link_message::welcome, 0);
    }
    for (const std::uint64_t sequence : {3, 4}) {
      ASSERT_EQ(block_of(sequence).size(), bytes_of_two / 2);
      other.send(link_message::block, session, sequence, block_of(sequence));
      other.expect(link_message::acknowledgement, 0);
    }
    EXPECT_EQ(far.counters().early.get(), 2 - less);
    EXPECT_EQ(far.counters().gaps.get(), less);
  }
}

TEST(a_block, has_a_payload_of_1_gib_at_most) {
  block_header h;
  h.payload_bytes = 1U << 30;
  seal_header(h);
  block_header read;
  const auto fault = [&] { return read_block_header(std::as_bytes(std::span(&h, 1)), read); };
  EXPECT_EQ(fault(), block_fault::none);
  ++h.payload_bytes;
  seal_header(h);
  EXPECT_EQ(fault(), block_fault::length);
}

} // namespace
} // namespace l3
