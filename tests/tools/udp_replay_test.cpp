// SPDX-License-Identifier: Apache-2.0
// Replay over loopback into plain sockets; what arrives is compared with docs/formats.md, section
// 3, datagram by datagram.
#include <gtest/gtest.h>

#include <poll.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/tools/replay_files.hpp"
#include "tools/replay/udp_replay.hpp"

namespace {

using namespace l3;
using datagram = std::vector<std::byte>;

datagram made(std::uint32_t id, std::uint32_t chunk, std::uint32_t discriminator,
              std::span<const std::byte> payload = {}) {
  datagram d(12 + payload.size());
  store_big(d.data(), id);
  store_big(d.data() + 4, chunk);
  store_big(d.data() + 8, discriminator);
  std::copy(payload.begin(), payload.end(), d.begin() + 12);
  return d;
}

/// The datagrams that a small file must become.
std::vector<datagram> expected(std::uint32_t events, std::uint32_t spills, std::uint32_t loops,
                               std::size_t chunk_bytes) {
  std::vector<datagram> line;
  for (std::uint32_t spill = 1; spill <= spills * loops; ++spill) {
    for (std::uint32_t n = 1; n <= events; ++n)
      for (std::uint32_t c = 0; c < 2; ++c) {
        const auto f = small_fragment(spill, n);
        const std::uint32_t id = 2 * (n - 1) + c + 1;
        std::uint32_t chunk = 0;
        for (std::size_t at = 0; at < f.size(); at += chunk_bytes, ++chunk)
          line.push_back(
              made(id, chunk, 0, std::span(f).subspan(at, std::min(chunk_bytes, f.size() - at))));
        line.push_back(made(id, chunk, spill << 8 | (c == 0 ? 5 : 9)));
      }
    for (const std::uint32_t crate : {5U, 9U})
      line.push_back(made(0, 1, events << 17 | spill << 8 | crate));
  }
  return line;
}

/// Sockets on consecutive ports of the loopback interface, read until `wanted` datagrams came. No
/// datagram can get lost: through watch() the sender waits after each event until the sockets are
/// empty.
class listener {
public:
  explicit listener(std::uint16_t ports) {
    std::random_device random;
    while (sockets_.size() < ports) {
      sockets_.clear();
      base_ = static_cast<std::uint16_t>(20000 + random() % 30000);
      for (std::uint16_t p = 0; p < ports; ++p) {
        file_descriptor s(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        socket_address at = resolve({destination::protocol::udp, "127.0.0.1", 1, 1});
        at.set_port(static_cast<std::uint16_t>(base_ + p));
        if (::bind(s.get(), at.get(), at.bytes) != 0) break;
        sockets_.push_back(std::move(s));
      }
    }
    received_.resize(ports);
  }
  ~listener() {
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] destination where() const {
    return {destination::protocol::udp, "127.0.0.1", base_,
            static_cast<std::uint16_t>(sockets_.size())};
  }

  void listen(std::size_t wanted) {
    thread_ = std::thread([this, wanted] {
      std::vector<pollfd> ready;
      for (const auto& s : sockets_) ready.push_back({s.get(), POLLIN, 0});
      std::array<std::byte, 2048> buffer;
      while (taken_<wanted&& ::poll(ready.data(), ready.size(), patience)> 0)
        for (std::size_t p = 0; p < ready.size(); ++p) {
          const auto n = ::recv(ready[p].fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
          if (n < 0) continue;
          received_[p].emplace_back(buffer.begin(), buffer.begin() + n);
          ++taken_;
        }
    });
  }

  /// The watch of a replay whose events have `datagrams_per_event` each.
  [[nodiscard]] replay_watch watch(std::size_t datagrams_per_event) {
    replay_watch w;
    w.tell = [this, datagrams_per_event](std::uint64_t events) {
      const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience);
      while (taken_ < events * datagrams_per_event && std::chrono::steady_clock::now() < limit)
        std::this_thread::yield();
    };
    return w;
  }

  /// The datagrams of each port; waits for all that are wanted.
  const std::vector<std::vector<datagram>>& received() {
    thread_.join();
    return received_;
  }

private:
  static constexpr int patience = 10'000; // ms: then something is broken

  std::uint16_t base_ = 0;
  std::vector<file_descriptor> sockets_;
  std::vector<std::vector<datagram>> received_;
  std::atomic<std::size_t> taken_ = 0;
  std::thread thread_;
};

/// Two fragments of 4152 bytes, three chunks and a trailer each.
constexpr std::size_t datagrams_per_event = 8;

udp_replay_settings settings_for(const destination& to) {
  udp_replay_settings s;
  s.to = {to};
  s.rate = {replay_rate::kind::events, 5000};
  s.chunk_bytes = 1400;
  s.end_delay = std::chrono::milliseconds(1);
  return s;
}

TEST(udp_replay, sends_what_the_format_says) {
  const temporary_folder folder;
  write_small_file(folder / "a", 12, 2);
  const replay_source source(folder / "a");
  listener far_end(1);
  auto settings = settings_for(far_end.where());
  settings.loops = 2;
  const auto line = expected(12, 2, 2, 1400);
  far_end.listen(line.size());
  const auto report = udp_replay(source, settings).run(far_end.watch(datagrams_per_event));

  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.events, 48U);
  EXPECT_EQ(report.fragments, 96U);
  EXPECT_EQ(report.trailers, 96U);
  EXPECT_EQ(report.data_datagrams, 96U * 3);
  EXPECT_EQ(report.ends_of_spill, 8U);
  std::uint64_t bytes = 0;
  for (const auto& d : line) bytes += d.size();
  EXPECT_EQ(report.bytes, bytes);
  ASSERT_EQ(report.spills.size(), 4U);
  EXPECT_EQ(report.spills[3], (spill_account{4, 12, 0, 12}));
  const auto& received = far_end.received();
  ASSERT_EQ(received[0].size(), line.size());
  for (std::size_t i = 0; i < line.size(); ++i) ASSERT_EQ(received[0][i], line[i]) << i;
}

TEST(udp_replay, advances_the_port_by_one_per_datagram) {
  const temporary_folder folder;
  write_small_file(folder / "a", 7, 1);
  const replay_source source(folder / "a");
  listener far_end(3);
  const auto line = expected(7, 1, 1, 1400);
  far_end.listen(line.size());
  (void)udp_replay(source, settings_for(far_end.where())).run(far_end.watch(datagrams_per_event));
  const auto& received = far_end.received();
  for (std::size_t i = 0; i < line.size(); ++i) {
    ASSERT_GT(received[i % 3].size(), i / 3);
    ASSERT_EQ(received[i % 3][i / 3], line[i]) << i;
  }
}

TEST(udp_replay, keeps_the_spill_structure_of_the_file) {
  const temporary_folder folder;
  write_small_file(folder / "a", 3, 2);
  const replay_source source(folder / "a");
  listener far_end(1);
  auto settings = settings_for(far_end.where());
  settings.rate = {};
  const auto line = expected(3, 2, 1, 1400);
  far_end.listen(line.size());
  const auto report = udp_replay(source, settings).run(far_end.watch(datagrams_per_event));
  EXPECT_GE(report.seconds, 0.020) << "the second begins when the first one's cycle is over";
  EXPECT_EQ(far_end.received()[0], line);
}

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

TEST(udp_replay, leaves_out_on_purpose) {
  const temporary_folder folder;
  write_small_file(folder / "a", 20, 1);
  const replay_source source(folder / "a");
  listener far_end(1);
  auto settings = settings_for(far_end.where());
  settings.drop = 0.1;
  udp_replay replay(source, settings);
  const auto report = replay.run({});
  EXPECT_GT(report.dropped, 0U);
  EXPECT_GT(report.events_dropped_from, 0U);
  EXPECT_LT(report.events_dropped_from, 20U);
  EXPECT_EQ(report.data_datagrams + report.trailers + report.ends_of_spill + report.dropped,
            expected(20, 1, 1, 1400).size());
}

TEST(udp_replay, duplicates_on_purpose) {
  const temporary_folder folder;
  write_small_file(folder / "a", 4, 1);
  const replay_source source(folder / "a");
  listener far_end(1);
  auto settings = settings_for(far_end.where());
  settings.duplicate = 0.3;
  const auto line = expected(4, 1, 1, 1400);
  const auto report = udp_replay(source, settings).run({});
  EXPECT_GT(report.duplicated, 0U);
  EXPECT_EQ(report.data_datagrams + report.trailers + report.ends_of_spill, line.size());
}

TEST(udp_replay, ends_when_it_is_told_to) {
  const temporary_folder folder;
  write_small_file(folder / "a", 10, 1);
  const replay_source source(folder / "a");
  listener far_end(1);
  replay_watch watch;
  std::uint64_t sent = 0;
  watch.tell = [&](std::uint64_t n) { sent = n; };
  watch.stop = [&] { return sent == 4; };
  const auto report = udp_replay(source, settings_for(far_end.where())).run(watch);
  EXPECT_TRUE(report.interrupted);
  EXPECT_FALSE(report.finished);
  EXPECT_EQ(report.events, 4U);
  EXPECT_EQ(report.ends_of_spill, 0U);
}

TEST(udp_replay, says_when_nobody_listens) {
  const temporary_folder folder;
  write_small_file(folder / "a", 10, 1);
  const replay_source source(folder / "a");
  destination closed;
  {
    const listener gone(1);
    closed = gone.where();
  }
  try {
    (void)udp_replay(source, settings_for(closed)).run({});
    FAIL() << "it did not notice";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(
        std::string(e.what()).find("no program listens on port " + std::to_string(closed.port)),
        std::string::npos)
        << e.what();
  }
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

TEST(udp_replay, sends_events_in_turn_and_each_end_of_spill_with_its_count) {
  const temporary_folder folder;
  write_small_file(folder / "a", 5, 2);
  const replay_source source(folder / "a");
  listener one(1), other(1);
  auto settings = settings_for(one.where());
  settings.to.push_back(other.where());
  constexpr std::size_t ends_of_a_file = 2 * 2;
  one.listen(5 * datagrams_per_event + ends_of_a_file);
  other.listen(5 * datagrams_per_event + ends_of_a_file);
  const auto report = udp_replay(source, settings).run({});
  EXPECT_TRUE(report.finished) << report.trouble;
  const arrived first(one.received()[0]), second(other.received()[0]);
  using numbers = std::map<std::uint32_t, std::set<std::uint32_t>>;
  EXPECT_EQ(first.events, (numbers{{1, {1, 3, 5}}, {2, {2, 4}}})) << "turns go on over spills";
  EXPECT_EQ(second.events, (numbers{{1, {2, 4}}, {2, {1, 3, 5}}}));
  using counts = std::map<std::uint32_t, std::uint32_t>;
  EXPECT_EQ(first.ended, (counts{{1, 3}, {2, 2}}));
  EXPECT_EQ(second.ended, (counts{{1, 2}, {2, 3}}));
  ASSERT_EQ(report.nodes.size(), 2U);
  EXPECT_EQ(report.nodes[0].events, 5U);
  EXPECT_EQ(report.events, 10U);
  EXPECT_NE(to_table(report).find(other.where().text()), std::string::npos);
}

TEST(udp_replay, sends_spills_in_turn) {
  const temporary_folder folder;
  write_small_file(folder / "a", 4, 3);
  const replay_source source(folder / "a");
  listener one(1), other(1);
  auto settings = settings_for(one.where());
  settings.to.push_back(other.where());
  settings.share = replay_share::by_spill;
  one.listen(8 * datagrams_per_event + 4);
  other.listen(4 * datagrams_per_event + 2);
  EXPECT_TRUE(udp_replay(source, settings).run({}).finished);
  const std::set<std::uint32_t> all{1, 2, 3, 4};
  using numbers = std::map<std::uint32_t, std::set<std::uint32_t>>;
  EXPECT_EQ(arrived(one.received()[0]).events, (numbers{{1, all}, {3, all}}));
  EXPECT_EQ(arrived(other.received()[0]).events, (numbers{{2, all}}));
}

TEST(udp_replay, goes_on_without_one_of_several_and_names_it) {
  const temporary_folder folder;
  write_small_file(folder / "a", 10, 1);
  const replay_source source(folder / "a");
  destination closed;
  {
    const listener gone(1);
    closed = gone.where();
  }
  listener there(1);
  auto settings = settings_for(closed);
  settings.to.push_back(there.where());
  there.listen(5 * datagrams_per_event + 2);
  const auto report = udp_replay(source, settings).run({});
  EXPECT_FALSE(report.finished);
  EXPECT_EQ(report.events, 10U);
  EXPECT_EQ(arrived(there.received()[0]).events.at(1).size(), 5U);
  EXPECT_GT(report.nodes[0].refused, 0U);
  EXPECT_EQ(report.nodes[1].refused, 0U);
  EXPECT_EQ(report.trouble,
            closed.text() + ": no program listened on port " + std::to_string(closed.port));
}

} // namespace
