// SPDX-License-Identifier: Apache-2.0
// Forwarder and receiver over loopback, with everything in between that can go wrong.
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/transport/outbox/link_ends.hpp"
#include "transport/format/endian.hpp"
#include "transport/outbox/link_connection.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// Every event 1 … last is stored exactly once, and every block is good and in order.
void expect_stored(const std::string& folder, std::uint32_t last) {
  store_reader reader(folder);
  std::vector<std::byte> payload;
  std::uint32_t events = 0;
  std::uint64_t sequence = 0;
  while (const auto block = reader.next()) {
    ASSERT_TRUE(reader.read_payload(*block, payload));
    ASSERT_EQ(block->header.sequence, ++sequence);
    event_walk walk(payload, block->header);
    while (const auto e = walk.next()) ASSERT_EQ(load<packed_event>(e->data()).number, ++events);
  }
  EXPECT_EQ(events, last);
  EXPECT_EQ(reader.damaged(), 0U);
}

TEST(link, stores_everything_and_says_goodbye) {
  scratch_folder folder;
  receiving_end far(folder.path());
  {
    sending_end near(link_to(far.endpoint(), 1h));
    EXPECT_TRUE(eventually([&] { return near.sender.connected(); }));
    near.append(1, 500);
    near.box.batch_done(3);
    EXPECT_TRUE(near.all_stored());
    EXPECT_EQ(near.safety.up_to(), 3U);
    EXPECT_EQ(near.sender.counters().acknowledged.get(), near.box.last_sealed());
    EXPECT_EQ(near.sender.counters().resent.get(), 0U);
    EXPECT_EQ(near.box.latency().count(), 500U);
  }
  EXPECT_TRUE(eventually([&] { return far.counters().goodbyes == 1; }));
  EXPECT_EQ(far.still_receiver().open_sessions(steady_clock::now()), 0U);
  expect_stored(folder.path(), 500);
}

bool has_ipv6() {
  const file_descriptor s(::socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 own{};
  own.sin6_family = AF_INET6;
  own.sin6_addr = in6addr_loopback;
  return s && ::bind(s.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0;
}

/// Another host in an endpoint, with the same port.
std::string at_host(const std::string& host, const std::string& endpoint) {
  return "tcp://" + host + endpoint.substr(endpoint.rfind(':'));
}

/// A receiver written by hand, as far as the greeting of ZMTP 3.0.
class bare_receiver {
public:
  bare_receiver() : listening_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof own;
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    EXPECT_EQ(::bind(listening_.get(), address, length), 0);
    EXPECT_EQ(::listen(listening_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listening_.get(), address, &length), 0);
    port_ = ntohs(own.sin_port);
  }
  [[nodiscard]] std::string endpoint() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  void greet() {
    peer_ = file_descriptor(::accept(listening_.get(), nullptr, nullptr));
    std::string greeting(64, '\0');
    greeting[0] = '\xff';
    greeting[9] = '\x7f';
    greeting[10] = 3;
    greeting.replace(12, 4, "NULL");
    const std::string ready = "\5READY\13Socket-Type" + std::string("\0\0\0\6", 4) + "ROUTER";
    say(greeting + '\4' + static_cast<char>(ready.size()) + ready);
  }
  void say(const std::string& bytes) {
    EXPECT_EQ(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void reset() {
    const linger at_once{1, 0};
    EXPECT_EQ(::setsockopt(peer_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    peer_ = file_descriptor();
  }

private:
  file_descriptor listening_;
  file_descriptor peer_;
  std::uint16_t port_ = 0;
};

/// As while the forwarder waits for a disk. The library has a heartbeat each second.
TEST(link, survives_the_reset_of_a_connection_whose_messages_wait) {
  bare_receiver far;
  forward_settings settings;
  settings.to = far.endpoint();
  link_connection near(settings, {"", settings.to});
  near.connect_once();
  far.greet();
  std::string messages;
  for (int i = 0; i < 2000; ++i) messages += {1, 1, 'x', 0, 1, 'y'};
  far.say(messages);
  std::this_thread::sleep_for(200ms);
  far.reset();
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(eventually([&] { return near.take_events([](const std::string&) {}).down; }));
  EXPECT_FALSE(near.receive()) << "no message of the link";
}

TEST(link, carries_events_over_ipv6_and_again_after_the_receiver_was_killed) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no address ::1";
  const scratch_folder folder;
  receive_settings settings;
  settings.bind = "tcp://[::1]:*";
  receiving_end far(folder.path(), 8, settings);
  sending_end near(link_to(far.endpoint()), 100);
  ASSERT_TRUE(near.all_stored());
  far.kill();
  near.append(101, 200);
  far.start();
  ASSERT_TRUE(near.all_stored());
  expect_stored(folder.path(), 200);
}

TEST(link, takes_daemons_of_both_kinds_at_the_address_for_all) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no address ::1";
  for (const char* host : {"127.0.0.1", "[::1]"}) {
    SCOPED_TRACE(host);
    const scratch_folder folder;
    receive_settings settings;
    settings.bind = "tcp://[::]:*";
    receiving_end far(folder.path(), 8, settings);
    sending_end near(link_to(at_host(host, far.endpoint())), 50);
    ASSERT_TRUE(near.all_stored());
  }
}

TEST(link, finds_a_receiver_by_its_name) {
  const scratch_folder folder;
  receiving_end far(folder.path());
  sending_end near(link_to(at_host("localhost", far.endpoint())), 50);
  ASSERT_TRUE(near.all_stored());
  far.kill();
  near.append(51, 100);
  far.start();
  ASSERT_TRUE(near.all_stored());
  expect_stored(folder.path(), 100);
}

TEST(link, drains_after_a_stop) {
  scratch_folder folder;
  receiving_end far(folder.path());
  far.kill();
  sending_end near(link_to(far.endpoint()));
  near.append(1, 50);
  near.box.seal();
  near.thread.request_stop(); // nothing could be sent yet
  far.start();
  near.thread.join();
  EXPECT_EQ(near.box.events_waiting(), 0U);
  expect_stored(folder.path(), 50);
}

TEST(link, gives_up_draining_at_its_deadline) {
  safe_batches safety;
  outbox box(small_blocks(), identity, safety);
  ASSERT_TRUE(box.append(bytes(100), {}));
  box.seal();
  link_pace pace(bit_rate{});
  forwarder sender(link_to("tcp://127.0.0.1:1"), box, pace, link_pace::share::fresh, nullptr);
  std::stop_source stop;
  stop.request_stop();
  sender.run(stop.get_token(), 1ms);
  EXPECT_EQ(box.blocks_waiting(), 1U);
  EXPECT_FALSE(sender.connected());
}

TEST(link, loses_nothing_when_the_receiver_dies_again_and_again) {
  scratch_folder folder;
  receiving_end far(folder.path());
  sending_end near(link_to(far.endpoint()));
  std::uint32_t number = 0;
  const auto reconnects = [&] { return near.sender.counters().reconnects.get(); };
  for (unsigned i = 0; i < 5; ++i) {
    const auto before = near.box.last_stored();
    for (int n = 0; n < 150; ++n) near.append(++number);
    // In the middle of the stream, with blocks under way. What the receiver before has acknowledged
    // may come late: the one that is killed has welcomed the sender, too.
    ASSERT_TRUE(eventually([&] { return reconnects() >= i && near.box.last_stored() > before; }));
    far.kill();
    near.append(++number);
    far.start();
  }
  EXPECT_TRUE(near.all_stored());
  EXPECT_GE(reconnects(), 5U);
  expect_stored(folder.path(), number);
}

TEST(link, goes_on_with_a_receiver_that_stores_elsewhere) {
  scratch_folder folder;
  scratch_folder other;
  receiving_end far(folder.path());
  sending_end near(link_to(far.endpoint()));
  near.append(1, 100);
  ASSERT_TRUE(near.all_stored());
  const auto stored = near.box.last_stored();
  const auto endpoint = far.endpoint();
  far.kill();
  receive_settings settings;
  settings.bind = endpoint;
  store_writer store({other.path()});
  block_receiver receiver(settings, store, nullptr);
  const std::jthread thread([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)receiver.step(5ms);
  });
  near.append(101, 200);
  EXPECT_TRUE(near.all_stored());
  EXPECT_TRUE(near.reported("stores elsewhere"));
  store_reader reader(other.path());
  const auto first = reader.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->header.sequence, stored + 1);
}

TEST(link, waits_out_a_store_that_cannot_be_written) {
  scratch_folder folder;
  receiving_end far(folder.path());
  sending_end near(link_to(far.endpoint()));
  near.append(1, 50);
  ASSERT_TRUE(near.all_stored());
  far.kill();
  // The next file's name is taken by a folder: no file can be opened there.
  const auto in_the_way = store_file_path(folder.path(), 2);
  far.start();
  std::filesystem::create_directory(in_the_way);
  near.append(51, 100);
  near.box.seal();
  EXPECT_TRUE(eventually([&] { return near.reported("the store cannot be written"); }));
  EXPECT_GE(near.sender.counters().refusals.get(), 1U);
  std::filesystem::remove(in_the_way);
  EXPECT_TRUE(near.all_stored());
  expect_stored(folder.path(), 100);
}

} // namespace
} // namespace l3
