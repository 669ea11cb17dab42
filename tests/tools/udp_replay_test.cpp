// SPDX-License-Identifier: Apache-2.0
// Replay over loopback into plain sockets, to several nodes and to none. tests/system/replay.py
// compares the datagrams with docs/formats.md, section 3.
#include <gtest/gtest.h>

#include <poll.h>

#include <array>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "tests/error_of.hpp"
#include "tests/tools/replay_files.hpp"
#include "tools/replay/udp_replay.hpp"

namespace {

using namespace l3;
using datagram = std::vector<std::byte>;

/// A socket of the loopback interface, read until so many datagrams came.
class listener {
public:
  listener() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    socket_address at = resolve({destination::protocol::udp, "127.0.0.1", 1, 1});
    at.set_port(0);
    EXPECT_EQ(::bind(socket_.get(), at.get(), at.bytes), 0);
    at.bytes = sizeof at.storage;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&at.storage), &at.bytes);
    where_ = {destination::protocol::udp, "127.0.0.1", at.port(), 1};
  }

  [[nodiscard]] const destination& where() const { return where_; }

  void listen(std::size_t wanted) {
    thread_ = std::jthread([this, wanted] {
      constexpr int patience = 10'000; // ms: then something is broken
      pollfd ready{socket_.get(), POLLIN, 0};
      std::array<std::byte, 2048> buffer;
      while (received_.size() < wanted && ::poll(&ready, 1, patience) > 0) {
        const auto n = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n >= 0) received_.emplace_back(buffer.begin(), buffer.begin() + n);
      }
    });
  }
  /// Waits for all that are wanted.
  const std::vector<datagram>& received() {
    thread_.join();
    return received_;
  }

private:
  file_descriptor socket_;
  destination where_;
  std::vector<datagram> received_;
  std::jthread thread_;
};

/// Where no program listens.
destination closed_port() { return listener().where(); }

/// Two fragments of 4152 bytes, three chunks and a trailer each.
constexpr std::size_t datagrams_per_event = 8;

class udp_replays : public testing::Test {
protected:
  [[nodiscard]] replay_report replay(std::uint32_t events, std::uint32_t spills,
                                     std::vector<destination> to,
                                     replay_share share = replay_share::by_event,
                                     const replay_watch& watch = {}) const {
    write_small_file(folder_ / "a", events, spills);
    udp_replay_settings s;
    s.to = std::move(to);
    s.rate = {replay_rate::kind::events, 5000};
    s.chunk_bytes = 1400;
    s.end_delay = std::chrono::milliseconds(1);
    s.share = share;
    s.drop = drop_;
    s.duplicate = duplicate_;
    return udp_replay(replay_source(folder_ / "a"), s).run(watch);
  }

  double drop_ = 0;
  double duplicate_ = 0;

private:
  temporary_folder folder_;
};

TEST(udp_replay, tells_long_spills_in_parts) {
  EXPECT_TRUE(ends_of_spill(0, 1, 2).empty());
  EXPECT_EQ(ends_of_spill(32767, 1, 2).size(), 1U);
  const auto parts = ends_of_spill(70000, 0x1ff, 17);
  ASSERT_EQ(parts.size(), 3U);
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parts[i].fragment_id, i);
    EXPECT_EQ(parts[i].chunk, 3U);
    EXPECT_EQ(parts[i].discriminator & 0x1ffff, 0x1ff11U);
    EXPECT_NE(parts[i].discriminator >> 17, 0U);
    sum += parts[i].discriminator >> 17;
  }
  EXPECT_EQ(sum, 70000U);
}

TEST_F(udp_replays, leave_out_and_repeat_on_purpose) {
  const listener far_end;
  const std::size_t whole = 20 * datagrams_per_event + 2;
  const auto sent = [](const replay_report& r) {
    return r.data_datagrams + r.trailers + r.ends_of_spill;
  };
  drop_ = 0.1;
  const auto less = replay(20, 1, {far_end.where()});
  EXPECT_GT(less.dropped, 0U);
  EXPECT_GT(less.events_dropped_from, 0U);
  EXPECT_LT(less.events_dropped_from, 20U);
  EXPECT_EQ(sent(less) + less.dropped, whole);
  drop_ = 0;
  duplicate_ = 0.3;
  const auto more = replay(20, 1, {far_end.where()});
  EXPECT_GT(more.duplicated, 0U);
  EXPECT_EQ(sent(more), whole);
}

TEST_F(udp_replays, end_when_they_are_told_to) {
  const listener far_end;
  replay_watch watch;
  std::uint64_t sent = 0;
  watch.tell = [&](std::uint64_t n) { sent = n; };
  watch.stop = [&] { return sent == 4; };
  const auto report = replay(10, 1, {far_end.where()}, replay_share::by_event, watch);
  EXPECT_TRUE(report.interrupted);
  EXPECT_FALSE(report.finished);
  EXPECT_EQ(report.events, 4U);
  EXPECT_EQ(report.ends_of_spill, 0U);
}

/// Events of each spill by the number in a datagram, and the ends of spill, as a daemon finds them.
struct arrived {
  std::map<std::uint32_t, std::set<std::uint32_t>> events; ///< by spill; two crates
  std::map<std::uint32_t, std::uint32_t> ended;            ///< by spill, of crate 5

  explicit arrived(const std::vector<datagram>& datagrams) {
    for (const datagram& d : datagrams) {
      if (d.size() != l2::datagram_header_bytes) continue;
      const auto t = l2::trailer::unpack(load_big<std::uint32_t>(d.data() + 8));
      if (t.count != 0) {
        if (t.crate == 5) ended[t.spill] += t.count;
      } else {
        events[t.spill].insert((load_big<std::uint32_t>(d.data()) - 1) / 2 + 1);
      }
    }
  }
};

using numbers = std::map<std::uint32_t, std::set<std::uint32_t>>;
using counts = std::map<std::uint32_t, std::uint32_t>;

TEST_F(udp_replays, send_events_or_spills_in_turn_and_each_end_of_spill_with_its_count) {
  for (const replay_share share : {replay_share::by_event, replay_share::by_spill}) {
    const std::size_t ends = share == replay_share::by_event ? 2 * 2 : 2; // of two crates
    listener one, other;
    one.listen(5 * datagrams_per_event + ends);
    other.listen(5 * datagrams_per_event + ends);
    const auto report = replay(5, 2, {one.where(), other.where()}, share);
    EXPECT_TRUE(report.finished) << report.trouble;
    const arrived first(one.received()), second(other.received());
    if (share == replay_share::by_spill) {
      EXPECT_EQ(first.events, (numbers{{1, {1, 2, 3, 4, 5}}}));
      EXPECT_EQ(second.events, (numbers{{2, {1, 2, 3, 4, 5}}}));
      continue;
    }
    EXPECT_EQ(first.events, (numbers{{1, {1, 3, 5}}, {2, {2, 4}}})) << "turns go on over spills";
    EXPECT_EQ(second.events, (numbers{{1, {2, 4}}, {2, {1, 3, 5}}}));
    EXPECT_EQ(first.ended, (counts{{1, 3}, {2, 2}}));
    EXPECT_EQ(second.ended, (counts{{1, 2}, {2, 3}}));
    ASSERT_EQ(report.nodes.size(), 2U);
    EXPECT_EQ(report.nodes[0].events, 5U);
    EXPECT_EQ(report.events, 10U);
    EXPECT_NE(to_table(report).find(other.where().text()), std::string::npos);
  }
}

TEST_F(udp_replays, go_on_without_one_of_several_but_not_without_all) {
  const destination closed = closed_port();
  const std::string port = std::to_string(closed.port);
  EXPECT_NE(error_of([&] { return replay(10, 1, {closed}); }).find("listens on port " + port),
            std::string::npos);
  listener there;
  there.listen(5 * datagrams_per_event + 2);
  const auto report = replay(10, 1, {closed, there.where()});
  EXPECT_FALSE(report.finished);
  EXPECT_EQ(report.events, 10U);
  EXPECT_EQ(arrived(there.received()).events.at(1).size(), 5U);
  EXPECT_GT(report.nodes[0].refused, 0U);
  EXPECT_EQ(report.nodes[1].refused, 0U);
  EXPECT_EQ(report.trouble, closed.text() + ": no program listened on port " + port);
}

} // namespace
