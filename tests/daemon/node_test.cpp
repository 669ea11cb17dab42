// SPDX-License-Identifier: Apache-2.0
// A whole node, fed over loopback: how it ends without a receiver, with a full outbox and full
// frames, and what it reports. Its parts have tests of their own.
#include "daemon/node.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/transport/building/level2.hpp"
#include "tests/transport/outbox/link_ends.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

/// A UDP socket on loopback; unbound it sends, bound it keeps a port for a moment.
class udp_socket {
public:
  udp_socket() : socket_(::socket(AF_INET, SOCK_DGRAM, 0)) {}
  ~udp_socket() { ::close(socket_); }
  udp_socket(const udp_socket&) = delete;
  udp_socket& operator=(const udp_socket&) = delete;

  void send(const test::wire_datagram& d, std::uint16_t port) {
    const auto content = d.on_the_wire();
    const auto to = loopback(port);
    ASSERT_EQ(::sendto(socket_, content.data(), content.size(), 0,
                       reinterpret_cast<const sockaddr*>(&to), sizeof to),
              static_cast<ssize_t>(content.size()));
    ++sent;
  }
  std::uint16_t any_port() {
    auto at = loopback(0);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    socklen_t size = sizeof at;
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    return ntohs(at.sin_port);
  }

  std::uint64_t sent = 0;

private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons(port);
    return a;
  }
  int socket_;
};

/// So small that a few hundred events fill outbox and frames.
daemon_settings small_node(std::uint16_t port, const std::string& receiver) {
  daemon_settings s;
  s.building.crates = {{{4, 1, board_kind::sampling_125_mhz}}};
  s.building.chunk_bytes = 1400;
  s.building.max_events_per_spill = 10000;
  s.building.event_time_limit = 1min;
  s.udp.port = port;
  s.udp.ports = 1;
  s.udp.socket_buffer = mebibytes(1);
  s.tcp.bind.clear();
  s.frames = {.count = 2, .events = 2, .age = 5ms};
  s.compute.where = backend::serial;
  s.outbox = {kibibytes(256), {64 << 10}, 1ms};
  s.spool.folder.clear(); // these tests need a full outbox
  s.forward = test::link_to(receiver);
  s.run.drain_time_limit = 1min;
  return s;
}

class a_small_node : public testing::Test {
protected:
  a_small_node()
      : far_(folder_.path()), port_(udp_socket().any_port()),
        settings_(small_node(port_, far_.endpoint())) {
    far_.kill();
    node_.emplace(settings_);
  }

  /// Event 1 but for its end; then others, until the outbox has no room and then one is shed for
  /// want of a frame; then the rest.
  void fill() {
    auto first = event(1);
    send(first[0]);
    std::uint32_t n = 1;
    const auto send_until = [&](const auto& holds) {
      while (!holds() && n < settings_.building.max_events_per_spill) send_event(++n);
    };
    send_until([&] { return outbox_is_full(); });
    const auto before = shed(shed::no_frame);
    send_until([&] { return shed(shed::no_frame) > before; });
    ASSERT_TRUE(outbox_is_full());
    for (std::size_t i = 1; i < first.size(); ++i) send(first[i]);
    ASSERT_TRUE(all_read());
  }

  std::vector<test::wire_datagram> event(std::uint32_t number) const {
    return test::datagrams_of({1, number}, settings_.building.crates,
                              settings_.building.chunk_bytes);
  }
  void send_event(std::uint32_t number) {
    for (const auto& d : event(number)) send(d);
    ASSERT_TRUE(all_read());
  }
  void send(const test::wire_datagram& d) { sender_.send(d, port_); }
  bool all_read() {
    return test::eventually([&] {
      const auto a = node_->account().datagrams;
      return a.data + a.trailers == sender_.sent;
    });
  }
  bool outbox_is_full() {
    node_->look_around();
    return node_->state().has[static_cast<std::size_t>(trouble::outbox_full)];
  }
  std::uint64_t shed(l3::shed reason) const {
    return node_->account().events.shed.at(std::string(name_of(reason)));
  }

  test::scratch_folder folder_;
  test::receiving_end far_;
  std::uint16_t port_;
  daemon_settings settings_;
  std::optional<node> node_;
  udp_socket sender_;
};

TEST_F(a_small_node, that_is_full_forwards_what_is_complete_if_the_receiver_comes_back) {
  fill();
  const auto before = shed(shed::no_frame);
  bool clean = false;
  std::jthread draining([&] { clean = node_->drain(); });
  ASSERT_TRUE(test::eventually([&] { return node_->state().now == phase::draining; }));
  far_.start();
  draining.join();
  EXPECT_TRUE(clean);
  EXPECT_EQ(shed(shed::no_frame), before);
  EXPECT_EQ(shed(shed::drain), 0U);
  const ledger end = node_->account();
  EXPECT_EQ(end.events.admitted, end.events.forwarded + before + shed(shed::priority));
  EXPECT_TRUE(end.balanced());
}

TEST_F(a_small_node, that_is_full_sheds_what_is_left_at_the_time_limit) {
  settings_.run.drain_time_limit = 1ms;
  node_.reset();
  node_.emplace(settings_);
  fill();
  const auto before = shed(shed::no_frame);
  EXPECT_FALSE(node_->drain());
  EXPECT_EQ(shed(shed::no_frame), before);
  EXPECT_GT(shed(shed::drain), 0U);
  EXPECT_TRUE(node_->account().balanced());
}

TEST_F(a_small_node, says_once_that_what_it_knows_came_again) {
  settings_.run.drain_time_limit = 1ms; // no receiver is there
  node_.reset();
  node_.emplace(settings_);
  std::ostringstream said;
  const auto logger = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_st>(said)));
  for (std::uint32_t n = 1; n <= 4; ++n) send_event(n);
  node_->look_around();
  EXPECT_EQ(said.str().find("already accepted"), std::string::npos);
  for (const int time : {2, 3}) {
    for (std::uint32_t n = 1; n <= 4; ++n) send_event(n);
    node_->look_around();
    EXPECT_EQ(node_->account().fragments.duplicate, 4U) << time;
  }
  spdlog::set_default_logger(logger);
  const auto first = said.str().find("4 fragments of events that were already accepted");
  ASSERT_NE(first, std::string::npos) << said.str();
  EXPECT_EQ(said.str().find("already accepted", first + 20), std::string::npos) << said.str();
  EXPECT_EQ(node_->account().datagrams.late, 2U * 4 * 2) << "every chunk of theirs";
  EXPECT_TRUE(node_->account().balanced());
}

} // namespace
} // namespace l3
