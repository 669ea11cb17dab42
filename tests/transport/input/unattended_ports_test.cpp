// SPDX-License-Identifier: Apache-2.0
#include "transport/input/unattended_ports.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "transport/format/l2.hpp"
#include "transport/input/udp_receiver.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

class ports_without_a_run : public testing::Test {
protected:
  ports_without_a_run() : sender_(::socket(AF_INET, SOCK_DGRAM, 0)) {
    udp_settings s;
    s.port = 0;
    s.ports = 2;
    s.socket_buffer = kibibytes(64);
    ports_ = bind_ports(s);
  }
  ~ports_without_a_run() override { ::close(sender_); }

  static std::vector<std::byte> datagram(const l2::datagram_header& h, std::size_t payload) {
    std::vector<std::byte> d(l2::datagram_header_bytes + payload);
    l2::write_datagram_header(d.data(), h);
    return d;
  }
  void send(std::size_t port, std::uint32_t fragment_id, std::size_t bytes = 100) const {
    auto d = datagram({fragment_id, 0, 0}, 1000);
    d.resize(bytes);
    send(port, d);
  }
  void send(std::size_t port, const std::vector<std::byte>& d) const {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(ports_[port].port());
    EXPECT_EQ(
        ::sendto(sender_, d.data(), d.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to),
        static_cast<ssize_t>(d.size()));
  }
  static void wait_for(const unattended_ports& u, std::uint64_t datagrams) {
    const auto end = steady_clock::now() + 1min;
    while (u.datagrams() < datagrams && steady_clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(u.datagrams(), datagrams);
  }

  const building_settings building_ = [] {
    building_settings s;
    s.crates = {{{3, 1, board_kind::sampling_125_mhz},
                 {7, 1, board_kind::sampling_125_mhz},
                 {8, 1, board_kind::sampling_125_mhz}}};
    return s;
  }();
  std::vector<udp_socket> ports_;
  int sender_;
};

TEST_F(ports_without_a_run, count_what_they_drop) {
  unattended_ports u(ports_, {}, building_);
  const auto before = steady_clock::now();
  EXPECT_LE(u.quiet_since(), before);
  for (std::uint32_t n = 0; n < 50; ++n) send(n % 2, n);
  send(0, 1, 3); // shorter than a header
  wait_for(u, 51);
  EXPECT_GE(u.quiet_since(), before);
}

TEST_F(ports_without_a_run, a_stranger_is_no_beam) {
  const source_list others{{{ip_address::ipv4(0x0a000000)}}}; // not this machine
  unattended_ports u(ports_, others, building_);
  const auto began = u.quiet_since();
  send(0, 1);
  wait_for(u, 1);
  u.stop();
  EXPECT_EQ(u.quiet_since(), began);
  EXPECT_TRUE(u.silent_for(0s).empty()) << "no crate has sent";
}

TEST_F(ports_without_a_run, what_an_input_would_refuse_is_no_beam) {
  unattended_ports u(ports_, {}, building_);
  const auto began = u.quiet_since();
  const std::vector<std::vector<std::byte>> refused{
      datagram({1, 0, 0}, 0),                           // a trailer of no chunk
      datagram({1, 1, 7}, 0),                           // a trailer of another crate
      datagram({0, 0, 0}, 100),                         // no fragment
      datagram({1, 0, 1}, 100),                         // a trailer's discriminator with data
      datagram({1, 0, 0}, 99),                          // half a word
      datagram({1, 1000, 0}, 100),                      // more chunks than a fragment has
      datagram({0xffffffff, 0, 0}, 100),                // more events than a spill has
      datagram({9, 1, l2::trailer{3, 1, 9}.pack()}, 0), // the end of a spill of no crate
      std::vector<std::byte>(3)};
  for (const auto& d : refused) send(0, d);
  wait_for(u, refused.size());
  EXPECT_EQ(u.quiet_since(), began);
  send(0, datagram({1, 1, l2::trailer{0, 1, 3}.pack()}, 0));
  wait_for(u, refused.size() + 1);
  u.stop();
  EXPECT_GT(u.quiet_since(), began);
}

TEST_F(ports_without_a_run, know_which_crates_are_silent) {
  unattended_ports u(ports_, {}, building_);
  EXPECT_TRUE(u.silent_for(0s).empty()) << "none sends";
  std::this_thread::sleep_for(300ms);
  send(0, 1); // of the first crate
  wait_for(u, 1);
  std::this_thread::sleep_for(300ms);
  send(1, 3); // of the third
  wait_for(u, 2);
  EXPECT_TRUE(u.silent_for(200ms).empty()) << "one of three is no beam";
  u.stop();
  unattended_ports two(ports_, {}, building_);
  std::this_thread::sleep_for(300ms);
  send(0, 1);
  send(0, 3);
  wait_for(two, 2);
  const std::vector<std::uint32_t> silent{7};
  EXPECT_EQ(two.silent_for(200ms), silent);
  EXPECT_TRUE(two.silent_for(1h).empty()) << "this watch has not lasted so long";
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(two.silent_for(200ms), silent) << "the beam pauses: no further crate becomes silent";
}

TEST_F(ports_without_a_run, know_how_long_the_beam_has_not_paused) {
  unattended_ports u(ports_, {}, building_, 1h);
  EXPECT_EQ(u.busy_for(), 0ns);
  send(0, 1);
  wait_for(u, 1);
  std::this_thread::sleep_for(5ms);
  send(0, 1);
  wait_for(u, 2);
  EXPECT_FALSE(u.pauses());
  EXPECT_GE(u.busy_for(), 5ms);
  u.stop();
  unattended_ports short_pauses(ports_, {}, building_, 1ns);
  send(0, 1);
  send(0, 1);
  wait_for(short_pauses, 2);
  EXPECT_EQ(short_pauses.busy_for(), 0ns);
}

TEST_F(ports_without_a_run, leave_to_the_next_reader_what_comes_later) {
  unattended_ports u(ports_, {}, building_);
  send(0, 1);
  wait_for(u, 1);
  u.stop();
  send(0, 2);
  send(1, 3);
  EXPECT_EQ(u.datagrams(), 1U);
  unattended_ports next(ports_, {}, building_);
  wait_for(next, 2);
}

} // namespace
} // namespace l3
