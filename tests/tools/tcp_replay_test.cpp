// SPDX-License-Identifier: Apache-2.0
// Replay over loopback TCP into a daemon of the test's own, which acknowledges, refuses, goes away
// or lies as a test wants.
#include <gtest/gtest.h>

#include <netinet/tcp.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "tests/tools/replay_files.hpp"
#include "tools/replay/tcp_replay.hpp"
#include "transport/format/crc32c.hpp"

namespace {

using namespace l3;

struct record {
  record_header header;
  std::vector<std::byte> body;
};

/// One connection, blocking.
class stream {
public:
  explicit stream(file_descriptor socket) : socket_(std::move(socket)) {
    // As the daemon: what waits for Nagle's sake is lost when the other end's bytes are unread.
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  /// False at the end of the stream. Every checksum is checked.
  bool read(record& r) {
    if (!read_bytes(&r.header, sizeof r.header)) return false;
    EXPECT_FALSE(check_header(r.header));
    r.body.resize(r.header.body_bytes);
    if (!read_bytes(r.body.data(), r.body.size())) return false;
    EXPECT_FALSE(check_body(r.header, r.body));
    return true;
  }

  void answer(record_type type, std::span<const std::byte> body) {
    const auto header =
        sealed_header(type, 0, 0, static_cast<std::uint32_t>(body.size()), crc32c(body));
    ::send(socket_.get(), &header, sizeof header, MSG_NOSIGNAL);
    ::send(socket_.get(), body.data(), body.size(), MSG_NOSIGNAL);
  }
  void acknowledge(std::uint64_t sequence, std::uint64_t known = 0) {
    const acknowledgement_body body{sequence, known};
    answer(record_type::acknowledgement, std::as_bytes(std::span(&body, 1)));
  }

private:
  bool read_bytes(void* to, std::size_t bytes) {
    return bytes == 0 ||
           ::recv(socket_.get(), to, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
  }
  file_descriptor socket_;
};

/// Serves connections one after the other: each call of `serve` gets the next one, and returns
/// false to accept no more.
class fake_daemon {
public:
  using service = std::function<bool(stream&, int connection)>;

  explicit fake_daemon(service serve) : serve_(std::move(serve)) {
    listener_ = file_descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto at = resolve({destination::protocol::tcp, "127.0.0.1", 1, 1});
    at.set_port(0);
    EXPECT_EQ(::bind(listener_.get(), at.get(), at.bytes), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    socket_address bound;
    bound.bytes = sizeof bound.storage;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.bytes);
    port_ = bound.port();
    thread_ = std::thread([this] {
      for (int n = 0;; ++n) {
        file_descriptor socket(::accept(listener_.get(), nullptr, nullptr));
        if (!socket) return;
        stream s(std::move(socket));
        if (!serve_(s, n)) return;
      }
    });
  }
  ~fake_daemon() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  [[nodiscard]] destination where() const {
    return {destination::protocol::tcp, "127.0.0.1", port_, 1};
  }

private:
  service serve_;
  file_descriptor listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

/// For tests of giving up; a replay that must succeed has the default time.
constexpr std::chrono::milliseconds short_time_limit{300};

/// A record of an event: its header, the heads of the event and of two fragments, and these.
constexpr std::size_t record_bytes = 32 + 16 + 2 * (8 + l2::fragment_bytes(2));

/// Refuses the next record, and reads on until the end.
bool refuse(stream& s, std::string_view why) {
  record r;
  if (!s.read(r)) return false;
  s.answer(record_type::refusal, std::as_bytes(std::span(why)));
  while (s.read(r)) {
  }
  return false;
}

class tcp_replay_test : public testing::Test {
protected:
  void make_file(std::uint32_t events, std::uint32_t spills) {
    write_small_file(folder_ / "a", events, spills);
    source_ = std::make_unique<replay_source>(folder_ / "a");
  }
  [[nodiscard]] static tcp_replay_settings settings_for(std::vector<destination> to) {
    tcp_replay_settings s;
    s.to = std::move(to);
    s.rate = {replay_rate::kind::unlimited, 0};
    return s;
  }
  [[nodiscard]] replay_report replay(const destination& to, std::uint64_t window = 1 << 20) const {
    auto s = settings_for({to});
    s.window = window;
    return tcp_replay(*source_, s).run({});
  }
  [[nodiscard]] replay_report replay_until_given_up(const std::vector<destination>& to) const {
    auto s = settings_for(to);
    s.time_limit = short_time_limit;
    return tcp_replay(*source_, s).run({});
  }

  temporary_folder folder_;
  std::unique_ptr<replay_source> source_;
};

/// What the only daemon does with each connection, and why the replay does not finish.
const std::pair<fake_daemon::service, const char*> useless[] = {
    {[](stream& s, int) {
       for (record r; s.read(r);) {
       }
       return false;
     },
     "7 records are not acknowledged 0.3 s after the last acknowledgement"},
    // If each pause is twice the one before, there are fewer than eight in the short time limit.
    {[](stream&, int connection) { return connection < 8; },
     " records are not acknowledged 0.3 s after the connection broke"},
    {[](stream& s, int) { return refuse(s, "another run is being taken"); },
     "refused: another run is being taken"}};

TEST_F(tcp_replay_test, gives_up_a_daemon_that_is_of_no_use) {
  make_file(5, 1);
  for (const auto& [serve, why] : useless) {
    const fake_daemon daemon(serve);
    const auto report = replay_until_given_up({daemon.where()});
    EXPECT_FALSE(report.finished);
    EXPECT_EQ(report.acknowledged, 0U);
    EXPECT_TRUE(report.trouble.ends_with(why)) << report.trouble;
  }
  auto gone = std::make_unique<fake_daemon>([](stream&, int) { return false; });
  auto settings = settings_for({gone->where()});
  settings.time_limit = short_time_limit;
  tcp_replay late(*source_, settings);
  gone.reset();
  EXPECT_NE(late.run({}).trouble.find("cannot connect"), std::string::npos);
}

TEST_F(tcp_replay_test, keeps_to_its_window_and_tries_again_when_there_was_no_place) {
  make_file(30, 1);
  fake_daemon daemon([&](stream& s, int connection) {
    if (connection == 0) {
      refuse(s, no_place_left);
      return true;
    }
    record r;
    // Hello, beginning and four events fit; then nothing comes until one is acknowledged.
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(s.read(r));
    s.acknowledge(r.header.sequence);
    while (s.read(r)) s.acknowledge(r.header.sequence);
    return false;
  });
  const auto report = replay(daemon.where(), 4 * record_bytes + 100);
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(report.acknowledged, 30U);
  EXPECT_EQ(report.reconnections, 1U);
  EXPECT_EQ(report.known, 0U);
  EXPECT_EQ(to_table(report).find("already known"), std::string::npos);
}

TEST_F(tcp_replay_test, goes_on_over_broken_connections_as_long_as_the_peer_keeps_up) {
  constexpr int events = 40;
  make_file(events, 1);
  std::uint64_t acknowledged = 0;
  const fake_daemon daemon([&](stream& s, int) {
    for (record r; s.read(r);) {
      if (r.header.sequence <= acknowledged || r.header.type == record_type::hello) continue;
      acknowledged = r.header.sequence;
      s.acknowledge(acknowledged);
      if (r.header.type == record_type::event) return true; // breaks off
      if (r.header.type == record_type::end_of_spill) return false;
    }
    return true;
  });
  // A window of one record: each connection acknowledges all that was under way.
  auto s = settings_for({daemon.where()});
  s.window = 1;
  s.time_limit = std::chrono::seconds(10); // with pauses that went on growing it would take 38 s
  const auto report = tcp_replay(*source_, s).run({});
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_GE(report.reconnections, events);
}

// Several daemons.

using event_name = std::pair<std::uint32_t, std::uint32_t>; // spill, number

event_name name_of(const record& r) {
  return {r.header.spill, load<event_body>(r.body.data()).number};
}

/// What a daemon of several was sent, and what it acknowledges.
struct taken_records {
  std::set<event_name> events;
  std::map<std::uint32_t, std::uint32_t> ended; ///< by spill, the sum of the counts
  std::set<std::uint32_t> begun;

  void take(const record& r) {
    if (r.header.type == record_type::event) {
      EXPECT_TRUE(begun.contains(r.header.spill)) << "its spill has not begun here";
      EXPECT_TRUE(events.insert(name_of(r)).second);
    }
    if (r.header.type == record_type::begin_of_spill) begun.insert(r.header.spill);
    if (r.header.type == record_type::end_of_spill)
      ended[r.header.spill] += load<end_of_spill_body>(r.body.data()).events;
  }
  [[nodiscard]] std::map<std::uint32_t, std::uint32_t> events_by_spill() const {
    std::map<std::uint32_t, std::uint32_t> sums;
    for (const auto spill : begun) sums[spill] = 0;
    for (const auto& [spill, number] : events) ++sums[spill];
    return sums;
  }
};

fake_daemon::service takes_all(taken_records& taken) {
  return [&taken](stream& s, int) {
    for (record r; s.read(r);) {
      taken.take(r);
      s.acknowledge(r.header.sequence);
    }
    return false;
  };
}

class several_daemons_test : public tcp_replay_test {
protected:
  [[nodiscard]] replay_report replay(const std::vector<destination>& to,
                                     replay_share share = replay_share::by_event) const {
    auto s = settings_for(to);
    s.rate = {replay_rate::kind::events, 2000};
    s.time_limit = std::chrono::seconds(3);
    s.share = share;
    return tcp_replay(*source_, s).run({});
  }
};

TEST_F(several_daemons_test, events_of_an_ended_spill_are_begun_and_ended_anew) {
  make_file(10, 1);
  taken_records taken;
  replay_report report;
  {
    const fake_daemon keeps_silent([&](stream& s, int) {
      for (record r; s.read(r);) {
        if (r.header.type == record_type::end_of_spill) return false; // breaks off at the end
      }
      return false;
    });
    const fake_daemon lives(takes_all(taken));
    report = replay({keeps_silent.where(), lives.where()});
  }
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(taken.events.size(), 10U);
  EXPECT_EQ(taken.ended, taken.events_by_spill());
}

TEST_F(several_daemons_test, a_silent_one_hands_on_and_one_that_is_back_is_used_again) {
  make_file(1500, 1);
  taken_records taken;
  std::atomic<std::uint64_t> after_it_was_back = 0;
  replay_report report;
  {
    const fake_daemon comes_back([&](stream& s, int connection) {
      for (record r; s.read(r);) {
        if (connection == 0) continue; // as a machine that is gone: open, and silent
        if (r.header.type == record_type::event) ++after_it_was_back;
        s.acknowledge(r.header.sequence);
      }
      return connection == 0;
    });
    const fake_daemon lives(takes_all(taken));
    report = replay({comes_back.where(), lives.where()});
  }
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(report.acknowledged, 1500U);
  EXPECT_GT(after_it_was_back, 50U);
  EXPECT_EQ(taken.events.size() + after_it_was_back, 1500U);
  EXPECT_TRUE(report.nodes[0].there);
  EXPECT_EQ(report.nodes[0].reconnections, 1U);
}

TEST_F(several_daemons_test, one_that_is_not_there_yet_is_waited_for_by_nobody) {
  make_file(20, 1);
  taken_records taken;
  destination closed;
  {
    const fake_daemon gone([](stream&, int) { return false; });
    closed = gone.where();
  }
  replay_report report;
  {
    const fake_daemon lives(takes_all(taken));
    report = replay({closed, lives.where()});
  }
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(taken.events.size(), 20U);
  EXPECT_NE(report.nodes[0].trouble.find("cannot connect"), std::string::npos);
  EXPECT_NE(to_table(report).find("gone: cannot connect"), std::string::npos) << to_table(report);
  EXPECT_THROW((void)tcp_replay(*source_, settings_for({closed, closed})), std::runtime_error);
}

} // namespace
