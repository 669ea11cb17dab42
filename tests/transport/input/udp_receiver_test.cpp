// SPDX-License-Identifier: Apache-2.0
// Datagrams over loopback: all ports, several threads, garbage among them, a port in use, a flood
// on one port.
#include "transport/input/udp_receiver.hpp"

#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <numeric>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/transport/building/rig.hpp"
#include "transport/input/udp_thread.hpp"
#include "transport/input/unattended_ports.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

/// Sends to the ports in turn, as the electronics do.
class sender {
public:
  explicit sender(std::vector<std::uint16_t> ports, std::uint32_t from = INADDR_LOOPBACK)
      : ports_(std::move(ports)), socket_(::socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(from);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&here), sizeof here), 0);
  }
  ~sender() { ::close(socket_); }

  void send(const bytes& datagram) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(ports_[next_++ % ports_.size()]);
    const auto n = ::sendto(socket_, datagram.data(), datagram.size(), 0,
                            reinterpret_cast<sockaddr*>(&to), sizeof to);
    EXPECT_EQ(n, static_cast<ssize_t>(datagram.size()));
    ++sent;
  }
  void send(const std::vector<wire_datagram>& all) {
    for (const auto& d : all) send(d.on_the_wire());
  }
  /// Sends datagrams of one length (the last may be shorter) so that one read gathers them.
  void send_together(const std::vector<bytes>& all) {
    segment(static_cast<int>(all[0].size()));
    send(std::accumulate(all.begin() + 1, all.end(), all[0], [](bytes sum, const bytes& b) {
      sum.insert(sum.end(), b.begin(), b.end());
      return sum;
    }));
    sent += all.size() - 1;
    segment(0);
  }

  std::uint64_t sent = 0;

private:
  void segment(int length) const {
    EXPECT_EQ(::setsockopt(socket_, SOL_UDP, UDP_SEGMENT, &length, sizeof length), 0);
  }

  std::vector<std::uint16_t> ports_;
  std::size_t next_ = 0;
  int socket_;
};

std::uint64_t received(const udp_receiver& r) {
  std::uint64_t n = 0;
  for (std::size_t t = 0; t < r.inputs(); ++t) n += r.input(t).datagrams + r.input(t).kernel_drops;
  return n;
}

/// Waits until so many datagrams were read; a datagram over loopback is in the socket when send()
/// returns.
void wait_for(const udp_receiver& r, std::uint64_t datagrams) {
  const auto limit = steady_clock::now() + 20s;
  while (received(r) < datagrams && steady_clock::now() < limit) std::this_thread::yield();
  ASSERT_GE(received(r), datagrams);
}

/// Waits until the builder has placed so many datagrams.
void wait_until_taken(const rig& r, std::uint64_t datagrams) {
  const auto taken = [&] {
    return r.counters.data_chunks + r.counters.trailers + r.counters.ends_of_spill;
  };
  const auto limit = steady_clock::now() + 20s;
  while (taken() < datagrams && steady_clock::now() < limit) std::this_thread::yield();
  ASSERT_EQ(taken(), datagrams);
}

udp_settings loopback(std::uint16_t ports, std::uint16_t threads) {
  udp_settings s;
  s.port = 0;
  s.ports = ports;
  s.threads = threads;
  s.socket_buffer = mebibytes(1);
  return s;
}

rig_options roomy() {
  rig_options o;
  o.batch_events = 16;
  o.batches = 6;
  o.parked = 64;
  o.event_time_limit = o.spill_time_limit = 1h; // the real clock is at work here
  return o;
}

class udp : public testing::TestWithParam<std::uint16_t> {};

TEST_P(udp, everything_arrives) {
  rig r(roomy());
  udp_receiver receiver(loopback(8, GetParam()), r.builder);
  ASSERT_EQ(receiver.ports().size(), 8U);
  EXPECT_EQ(receiver.inputs(), GetParam());
  sender out(receiver.ports());
  for (const std::uint32_t spill : {511U, 0U}) {
    // One by one, until the spill has become the current one: a thread may be held up for longer
    // than a chunk waits for its siblings.
    for (const auto& d : r.event({spill, 1})) {
      out.send(d.on_the_wire());
      wait_until_taken(r, out.sent);
    }
    for (std::uint32_t n = 2; n <= 200; ++n) {
      out.send(r.event({spill, n}));
      if (n % 8 == 0) wait_until_taken(r, out.sent);
    }
    out.send(r.ends_of_spill(spill, 200));
    wait_until_taken(r, out.sent);
  }
  receiver.stop();
  r.builder.drain(steady_clock::now());
  EXPECT_EQ(r.pool.received.size(), 400U) << r.counted();
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
  r.expect_balance();
  r.expect_bytes();
  ASSERT_EQ(r.summaries.size(), 2U);
  EXPECT_EQ(r.summaries[0], (spill_summary{511, 200, 0, 200}));
}

INSTANTIATE_TEST_SUITE_P(threads, udp, testing::Values(1, 2, 4));

/// With few events in a batch, the ring has few entries.
class gathered_datagrams : public testing::TestWithParam<std::uint32_t> {
protected:
  static rig_options with_batches_of(std::uint32_t events) {
    auto options = roomy();
    options.batch_events = events;
    return options;
  }

  rig r{with_batches_of(GetParam())};
  std::vector<udp_socket> ports_ = bind_ports(loopback(1, 1));
  sender out_{{ports_[0].port()}};
};

TEST_P(gathered_datagrams, are_taken_apart) {
  udp_receiver receiver(std::move(ports_), loopback(1, 1), r.builder);
  const std::size_t full = r.options.chunk_bytes;
  for (const std::uint32_t first : {1U, 4U}) { // the second time, datagrams land in slots
    std::map<std::size_t, std::vector<bytes>, std::greater<>> by_length;
    for (const auto& d : r.events(1, first, first + 2))
      by_length[d.payload.size()].push_back(d.on_the_wire());
    ASSERT_GT(by_length[full].size(), 8U) << "more than the slots of a read";
    by_length[full].push_back(by_length[0].back());
    by_length[0].pop_back();
    for (const auto& [length, all] : by_length) {
      out_.send_together(all);
      wait_until_taken(r, out_.sent);
    }
  }
  const auto good = out_.sent;
  out_.send_together({bytes(full + 13), bytes(full + 13), bytes(100)});
  out_.send_together({bytes(full + 12), bytes(full + 12), bytes(5)});
  out_.send_together({bytes(20), bytes(20), bytes(5)});
  out_.send(bytes{});
  wait_for(receiver, out_.sent);
  receiver.stop();
  EXPECT_EQ(received(receiver), good + 10);
  EXPECT_EQ(receiver.input(0).longest, full + 1);
  EXPECT_EQ(receiver.input(0).refused[refused::too_long], 2U);
  EXPECT_EQ(receiver.input(0).refused[refused::too_short], 3U);
  EXPECT_EQ(receiver.input(0).refused[refused::fragment_id], 5U);
  r.builder.drain(steady_clock::now());
  EXPECT_EQ(r.pool.received.size(), 6U) << r.counted();
  r.expect_balance();
  r.expect_bytes();
}

TEST_P(gathered_datagrams, may_be_more_than_the_ring_holds) {
  std::vector<bytes> trailers;
  for (const auto& d : r.event({1, 1}))
    if (d.payload.empty()) trailers.push_back(d.on_the_wire());
  while (trailers.size() < 60) trailers.push_back(trailers[trailers.size() - 3]);
  for (int n = 0; n < 20; ++n) out_.send_together(trailers);
  udp_receiver receiver(std::move(ports_), loopback(1, 1), r.builder);
  wait_until_taken(r, out_.sent);
  for (const auto& d : r.event({1, 1}))
    if (!d.payload.empty()) out_.send(d.on_the_wire());
  wait_for(receiver, out_.sent);
  receiver.stop();
  EXPECT_EQ(received(receiver), out_.sent);
  EXPECT_EQ(r.counters.trailers, 1200U);
  r.builder.drain(steady_clock::now());
  EXPECT_EQ(r.pool.received.size(), 1U) << r.counted();
  r.expect_bytes();
}

TEST_P(gathered_datagrams, of_a_stranger_are_all_refused) {
  auto settings = loopback(1, 1);
  settings.allow = {{{ip_address::ipv4(0x0a000000)}}}; // not this machine
  udp_receiver receiver(std::move(ports_), settings, r.builder);
  out_.send_together({bytes(100), bytes(100), bytes(5)});
  wait_for(receiver, 3);
  receiver.stop();
  EXPECT_EQ(receiver.input(0).refused[refused::source], 3U);
}

INSTANTIATE_TEST_SUITE_P(events_of_a_batch, gathered_datagrams, testing::Values(1, 6, 200));

TEST(udp_receiver, leaves_to_the_next_reader_what_the_sockets_hold) {
  const auto settings = loopback(1, 1);
  const auto ports = bind_ports(settings);
  bool left = false;
  // The thread may read some before it hears of the stop.
  for (std::uint32_t spill = 1; !left && spill <= 100; ++spill) {
    rig r(roomy());
    sender out({ports[0].port()});
    for (std::uint32_t n = 1; n <= 5; ++n) out.send(r.event({spill, n}));
    const auto copies = [&] {
      std::vector<udp_socket> c;
      c.push_back(ports[0]);
      return c;
    };
    udp_receiver first(copies(), settings, r.builder);
    first.stop(sockets_hold::what_to_leave);
    udp_receiver second(copies(), settings, r.builder);
    wait_for(second, out.sent - received(first));
    second.stop();
    EXPECT_EQ(received(first) + received(second), out.sent);
    left = received(second) != 0;
    r.builder.drain(steady_clock::now());
  }
  EXPECT_TRUE(left);
}

TEST(udp_receiver, a_flooded_port_does_not_starve_the_others) {
  rig r(roomy());
  udp_receiver receiver(loopback(2, 1), r.builder);
  std::atomic<bool> over = false;
  std::thread flood([&] {
    sender out({receiver.ports()[0]});
    while (!over) out.send(bytes(100, std::byte{0xff}));
  });
  sender out({receiver.ports()[1]});
  for (std::uint32_t n = 1; n <= 50; ++n) {
    out.send(r.event({1, n}));
    const auto limit = steady_clock::now() + 20s;
    while (r.counters.events_admitted < n && steady_clock::now() < limit) std::this_thread::yield();
    ASSERT_EQ(r.counters.events_admitted, n);
  }
  over = true;
  flood.join();
}

/// So many threads of this process, once they have named themselves.
std::set<pid_t> udp_threads(std::size_t wanted) {
  std::set<pid_t> all;
  while (all.size() < wanted) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      if (name == "udp") all.insert(std::stoi(task.path().filename().string()));
    }
  }
  return all;
}

/// Stops a thread of this process where it waits, as a debugger does, and lets it go on at the end.
class stopped_thread {
public:
  explicit stopped_thread(pid_t thread) {
    EXPECT_EQ(::pipe(go_on.data()), 0);
    struct sigaction how = {};
    how.sa_handler = [](int) {
      stops = true;
      char word = 0;
      while (::read(go_on[0], &word, 1) != 1) {
      }
    };
    ::sigaction(SIGUSR1, &how, &before_);
    const auto file = "/proc/self/task/" + std::to_string(thread) + "/stat";
    for (std::string stat; stat.find(") S ") == std::string::npos;)
      std::getline(std::ifstream(file), stat);
    EXPECT_EQ(::tgkill(::getpid(), thread, SIGUSR1), 0);
    while (!stops) std::this_thread::yield();
  }
  ~stopped_thread() {
    stops = false;
    EXPECT_EQ(::write(go_on[1], "", 1), 1);
    ::sigaction(SIGUSR1, &before_, nullptr);
  }
  stopped_thread(const stopped_thread&) = delete;
  stopped_thread& operator=(const stopped_thread&) = delete;

private:
  static inline std::array<int, 2> go_on{};
  static inline std::atomic<bool> stops = false;
  struct sigaction before_ = {};
};

TEST(udp_receiver, a_stopped_thread_holds_up_only_what_is_in_its_sockets) {
  rig r(roomy());
  udp_receiver one(loopback(1, 1), r.builder);
  const auto earlier = udp_threads(1);
  udp_receiver other(loopback(1, 1), r.builder);
  auto its_thread = udp_threads(2);
  std::erase_if(its_thread, [&](pid_t t) { return earlier.contains(t); });
  ASSERT_EQ(its_thread.size(), 1U);
  const auto wait_for_events = [&](std::uint32_t n) {
    const auto limit = steady_clock::now() + 20s;
    while (r.counters.events_admitted < n && steady_clock::now() < limit) std::this_thread::yield();
    ASSERT_EQ(r.counters.events_admitted, n);
  };
  sender to_one(one.ports());
  sender to_other(other.ports());
  to_other.send(r.event({1, 1}));
  wait_for_events(1);
  {
    const stopped_thread stopped(*its_thread.begin());
    to_other.send(r.event({1, 2}));
    const std::uint32_t events = 20 * r.options.batch_events; // more than all frames hold
    for (std::uint32_t n = 3; n <= events; ++n) {
      to_one.send(r.event({1, n}));
      wait_for_events(n - 1);
    }
    EXPECT_GE(r.pool.submitted(), 19U) << "it holds no frame";
  }
  wait_for_events(20 * r.options.batch_events); // its own event too
  one.stop();
  other.stop();
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
  EXPECT_EQ(received(one) + received(other), to_one.sent + to_other.sent);
}

TEST(udp_receiver, what_the_socket_had_no_room_for_is_counted) {
  rig r(roomy());
  auto settings = loopback(1, 1);
  settings.socket_buffer = kibibytes(4);
  std::uint64_t sent = 0;
  std::uint64_t accounted = 0;
  {
    udp_receiver receiver(settings, r.builder);
    EXPECT_GE(receiver.socket_buffer(), kibibytes(1));
    sender out(receiver.ports());
    const auto d = r.fragment({1, 1}, 0)[0].on_the_wire();
    for (int i = 0; i < 20000; ++i) out.send(d);
    receiver.stop();
    sent = out.sent;
    accounted = received(receiver);
    EXPECT_GT(receiver.input(0).kernel_drops, 0U);
  }
  EXPECT_EQ(accounted, sent);
}

TEST(udp_receiver, each_thread_takes_its_turns_when_nothing_comes) {
  rig r;
  const udp_receiver receiver(loopback(2, 2), r.builder);
  const std::array before{receiver.turns(0), receiver.turns(1)};
  const auto limit = steady_clock::now() + 20s;
  const auto stands = [&](std::size_t t) { return receiver.turns(t) == before[t]; };
  while ((stands(0) || stands(1)) && steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_FALSE(stands(0));
  EXPECT_FALSE(stands(1));
}

TEST(udp_receiver, asks_for_the_setting_that_is_missing) {
  rig r;
  auto settings = loopback(1, 1);
  settings.socket_buffer = {std::uint64_t{1} << 40}; // more than any system gives
  const udp_receiver receiver(settings, r.builder);
  EXPECT_NE(receiver.advice().find("net.core.rmem_max"), std::string::npos);
  settings.socket_buffer = kibibytes(16);
  EXPECT_EQ(udp_receiver(settings, r.builder).advice(), "");
}

TEST(nap_after_sweep, is_never_so_long_that_a_socket_could_overflow) {
  EXPECT_EQ(nap_after_sweep(mebibytes(4), false), 500us);
  EXPECT_EQ(nap_after_sweep(kibibytes(208), false), 85us) << "half of it at 10 Gb/s";
  EXPECT_EQ(nap_after_sweep(kibibytes(16), false), 0us) << "too short to be worth a sleep";
  EXPECT_EQ(nap_after_sweep(mebibytes(4), true), 0us) << "more was waiting";
}

// Ports while no run is active.

class ports_without_a_run : public testing::Test {
protected:
  static bytes datagram(const l2::datagram_header& h, std::size_t payload) {
    bytes d(l2::datagram_header_bytes + payload);
    l2::write_datagram_header(d.data(), h);
    return d;
  }
  void send(std::size_t port, std::uint32_t fragment_id, std::size_t length = 100) const {
    auto d = datagram({fragment_id, 0, 0}, 1000);
    d.resize(length);
    send(port, d);
  }
  void send(std::size_t port, const bytes& d) const { sender({ports_[port].port()}).send(d); }
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
  const std::vector<udp_socket> ports_ = bind_ports(loopback(2, 1));
};

TEST_F(ports_without_a_run, count_what_they_drop) {
  unattended_ports u(ports_, {}, building_);
  const auto before = steady_clock::now();
  EXPECT_LE(u.quiet_since(), before);
  for (std::uint32_t n = 0; n < 50; ++n) send(n % 2, n);
  send(0, 1, 3); // shorter than a header
  sender({ports_[1].port()}).send_together({bytes(100), bytes(100), bytes(3)});
  wait_for(u, 54);
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
  const std::vector<bytes> refused{datagram({1, 1, 7}, 0),      // a trailer of another crate
                                   datagram({0, 0, 0}, 100),    // no fragment
                                   datagram({1, 1000, 0}, 100), // more chunks than a fragment has
                                   bytes(3)};
  for (const auto& d : refused) send(0, d);
  wait_for(u, refused.size());
  EXPECT_EQ(u.quiet_since(), began);
  const auto good = datagram({1, 1, l2::trailer{0, 1, 3}.pack()}, 0);
  sender({ports_[0].port()}).send_together({refused[0], good});
  wait_for(u, refused.size() + 2);
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
  EXPECT_EQ(two.senders(1min).size(), 2U);
  std::this_thread::sleep_for(300ms);
  EXPECT_TRUE(two.senders(200ms).empty());
  EXPECT_EQ(two.silent_for(200ms), silent) << "the beam pauses: no further crate becomes silent";
}

TEST_F(ports_without_a_run, know_how_long_the_beam_has_not_paused) {
  unattended_ports u(ports_, {}, building_, 1h);
  EXPECT_EQ(u.busy_for(), 0ns);
  send(0, 1);
  wait_for(u, 1);
  EXPECT_EQ(u.busy_for(), 0ns) << "the silence before the first datagram does not count";
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

TEST_F(ports_without_a_run, take_a_stall_in_a_spill_for_no_pause) {
  std::uint64_t sent = 0;
  const auto spill = [&](unattended_ports& u, std::uint32_t number, std::uint32_t events) {
    send(0, datagram({1, 1, l2::trailer{events, number, 3}.pack()}, 0));
    wait_for(u, ++sent);
  };
  const auto pauses = [](const unattended_ports& u, std::chrono::nanoseconds within) {
    const auto end = steady_clock::now() + within;
    while (!u.pauses() && steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    return u.pauses();
  };
  unattended_ports u(ports_, {}, building_, 1ns);
  EXPECT_TRUE(pauses(u, 1min)) << "nothing has come";
  spill(u, 7, 0);
  EXPECT_FALSE(pauses(u, 300ms));
  spill(u, 7, 20); // its end
  EXPECT_TRUE(pauses(u, 1min));
  spill(u, 7, 0);
  EXPECT_TRUE(pauses(u, 1min)) << "another crate's";
  spill(u, 8, 0);
  EXPECT_FALSE(pauses(u, 300ms));
  spill(u, 9, 0);
  spill(u, 9, 0);
  EXPECT_TRUE(pauses(u, 1min)) << "this sender marks no ends";
  spill(u, 9, 20);
  spill(u, 10, 0);
  EXPECT_FALSE(pauses(u, 300ms)) << "it does";
  u.stop();
  unattended_ports rest(ports_, {}, building_, 1ns, true);
  sent = 0;
  EXPECT_FALSE(pauses(rest, 300ms)) << "a spill was under way";
  spill(rest, 9, 0);
  EXPECT_FALSE(pauses(rest, 300ms));
  spill(rest, 9, 20);
  EXPECT_TRUE(pauses(rest, 1min));
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
} // namespace l3::test
