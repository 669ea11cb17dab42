// SPDX-License-Identifier: Apache-2.0
// Replay over loopback TCP into a daemon of the test's own, which acknowledges, refuses, goes away
// or lies as a test wants.
#include <gtest/gtest.h>

#include <netinet/tcp.h>
#include <poll.h>

#include <array>
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
  void send_raw(const std::string& text) {
    ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  void answer_damaged() {
    const acknowledgement_body body{1, 0};
    const auto bytes = std::as_bytes(std::span(&body, 1));
    const auto header =
        sealed_header(record_type::acknowledgement, 0, 0, sizeof body, crc32c(bytes) ^ 1);
    ::send(socket_.get(), &header, sizeof header, MSG_NOSIGNAL);
    ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
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

class tcp_replay_test : public testing::Test {
protected:
  void make_file(std::uint32_t events, std::uint32_t spills) {
    write_small_file(folder_ / "a", events, spills);
    source_ = std::make_unique<replay_source>(folder_ / "a");
  }
  [[nodiscard]] replay_report replay(const destination& to, std::uint32_t loops = 1,
                                     std::uint64_t window = 1 << 20) const {
    tcp_replay_settings s;
    s.to = {to};
    s.rate = {replay_rate::kind::unlimited, 0};
    s.loops = loops;
    s.window = window;
    return tcp_replay(*source_, s).run({});
  }
  [[nodiscard]] replay_report replay_until_given_up(const destination& to) const {
    tcp_replay_settings s;
    s.to = {to};
    s.rate = {replay_rate::kind::unlimited, 0};
    s.time_limit = short_time_limit;
    return tcp_replay(*source_, s).run({});
  }
  /// The body of an event record as it must be.
  static std::vector<std::byte> event_bytes(std::uint32_t spill, std::uint32_t number) {
    const auto f = small_fragment(spill, number);
    std::vector<std::byte> body(16 + 2 * 8);
    store(body.data(), event_body{number, 2, 100'000ULL * number});
    for (std::uint16_t c = 0; c < 2; ++c) {
      store(body.data() + 16 + 8 * c, event_fragment{c, 0, static_cast<std::uint32_t>(f.size())});
      body.insert(body.end(), f.begin(), f.end());
    }
    return body;
  }

  temporary_folder folder_;
  std::unique_ptr<replay_source> source_;
};

TEST_F(tcp_replay_test, sends_what_the_format_says) {
  make_file(3, 2);
  std::vector<record> records;
  fake_daemon daemon([&](stream& s, int) {
    for (record r; s.read(r);) {
      records.push_back(r);
      s.acknowledge(r.header.sequence);
    }
    return false;
  });
  const auto report = replay(daemon.where(), 2);
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(report.events, 12U);
  EXPECT_EQ(report.acknowledged, 12U);
  EXPECT_EQ(report.fragments, 24U);
  EXPECT_EQ(report.resent, 0U);
  ASSERT_EQ(report.spills.size(), 4U);
  EXPECT_EQ(report.spills[2], (spill_account{3, 3, 0, 3}));

  ASSERT_EQ(records.size(), 1U + 4 * 5);
  for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].header.sequence, i + 1);
  hello h;
  EXPECT_EQ(records[0].header.type, record_type::hello);
  ASSERT_FALSE(parse_hello(records[0].body, h));
  EXPECT_EQ(h.run, 9U);
  EXPECT_EQ(h.crates, small_readout());
  for (std::uint32_t spill = 1; spill <= 4; ++spill) {
    const auto* r = &records[1 + (spill - 1) * 5];
    EXPECT_EQ(r[0].header.type, record_type::begin_of_spill);
    EXPECT_EQ(r[0].header.spill, spill);
    for (std::uint32_t n = 1; n <= 3; ++n) {
      EXPECT_EQ(r[n].header.type, record_type::event);
      EXPECT_EQ(r[n].header.spill, spill);
      EXPECT_EQ(r[n].body, event_bytes(spill, n));
    }
    EXPECT_EQ(r[4].header.type, record_type::end_of_spill);
    EXPECT_EQ(load<end_of_spill_body>(r[4].body.data()).events, 3U);
  }
}

TEST_F(tcp_replay_test, sends_again_what_a_broken_connection_leaves) {
  make_file(20, 1);
  std::vector<std::vector<std::uint64_t>> sequences;
  std::set<std::uint32_t> events;
  fake_daemon daemon([&](stream& s, int connection) {
    sequences.emplace_back();
    for (record r; s.read(r);) {
      if (sequences.back().empty()) {
        EXPECT_EQ(r.header.type, record_type::hello);
      }
      sequences.back().push_back(r.header.sequence);
      if (r.header.type == record_type::event)
        events.insert(load<event_body>(r.body.data()).number);
      // The first connection breaks after ten records of which four are safe.
      if (connection == 0 && r.header.sequence == 4) s.acknowledge(4);
      if (connection == 0 && sequences.back().size() == 10) return true;
      if (connection > 0 && r.header.type != record_type::hello) s.acknowledge(r.header.sequence);
    }
    return connection == 0;
  });
  // A window of six events, so that the number of records under way is known.
  const auto report = replay(daemon.where(), 1, 6 * (32 + event_bytes(1, 1).size()));
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(report.acknowledged, 20U);
  EXPECT_EQ(report.reconnections, 1U);
  EXPECT_GE(report.resent, 7U); // the beginning of the spill and six events
  EXPECT_EQ(events.size(), 20U);
  ASSERT_EQ(sequences.size(), 2U);
  const auto& again = sequences[1];
  ASSERT_GT(again.size(), 3U);
  EXPECT_GT(again[0], 10U) << "the hello takes a number that was not used";
  EXPECT_EQ(again[1], 2U) << "the spill's beginning has its old one";
  EXPECT_EQ(again[2], 5U) << "the first record that is not safe";
  EXPECT_TRUE(std::is_sorted(again.begin() + 1, again.end()));
  EXPECT_EQ(std::count(again.begin(), again.end(), again[0]), 1);
}

TEST_F(tcp_replay_test, keeps_to_its_window) {
  make_file(30, 1);
  const std::size_t event = 32 + event_bytes(1, 1).size();
  std::uint64_t read = 0;
  fake_daemon daemon([&](stream& s, int) {
    record r;
    // Hello, beginning and four events fit; then nothing comes until one is acknowledged.
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(s.read(r));
    s.acknowledge(r.header.sequence);
    for (read = 6; s.read(r); ++read) s.acknowledge(r.header.sequence);
    return false;
  });
  const auto report = replay(daemon.where(), 1, 4 * event + 100);
  EXPECT_TRUE(report.finished) << report.trouble;
}

TEST_F(tcp_replay_test, a_silent_daemon_is_given_up) {
  make_file(5, 1);
  fake_daemon daemon([&](stream& s, int) {
    for (record r; s.read(r);) {
    }
    return false;
  });
  const auto report = replay_until_given_up(daemon.where());
  EXPECT_FALSE(report.finished);
  EXPECT_EQ(report.events, 5U);
  EXPECT_EQ(report.acknowledged, 0U);
  EXPECT_EQ(report.trouble, "7 records are not acknowledged 0.3 s after the last acknowledgement");
}

TEST_F(tcp_replay_test, a_daemon_that_stays_away_is_given_up) {
  make_file(5, 1);
  auto daemon = std::make_unique<fake_daemon>([](stream&, int) { return false; });
  tcp_replay_settings settings;
  settings.to = {daemon->where()};
  settings.time_limit = short_time_limit;
  tcp_replay replay(*source_, settings);
  daemon.reset();
  const auto report = replay.run({});
  EXPECT_FALSE(report.finished);
  EXPECT_NE(report.trouble.find("cannot connect"), std::string::npos) << report.trouble;
}

/// At most so many connections in the short time limit, if each pause is twice the one before.
constexpr int few = 8;

TEST_F(tcp_replay_test, gives_up_a_peer_that_accepts_and_closes) {
  make_file(5, 1);
  std::atomic<int> connections = 0;
  const fake_daemon daemon([&](stream&, int) { return ++connections < 1000; });
  const auto report = replay_until_given_up(daemon.where());
  EXPECT_FALSE(report.finished);
  EXPECT_LE(connections, few);
  EXPECT_EQ(report.acknowledged, 0U);
  // How many of its seven records it had begun to send depends on when the peer closed.
  EXPECT_TRUE(
      report.trouble.ends_with(" records are not acknowledged 0.3 s after the connection broke"))
      << report.trouble;
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
  tcp_replay_settings s;
  s.to = {daemon.where()};
  s.rate = {replay_rate::kind::unlimited, 0};
  s.window = 1;
  s.time_limit = std::chrono::seconds(10); // with pauses that went on growing it would take 38 s
  const auto report = tcp_replay(*source_, s).run({});
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_GE(report.reconnections, events);
}

TEST_F(tcp_replay_test, passes_on_a_refusal) {
  make_file(5, 1);
  fake_daemon daemon([&](stream& s, int) {
    record r;
    EXPECT_TRUE(s.read(r));
    const std::string why = "another run is being taken";
    s.answer(record_type::refusal, std::as_bytes(std::span(why)));
    while (s.read(r)) {
    }
    return false;
  });
  const auto report = replay(daemon.where());
  EXPECT_FALSE(report.finished);
  EXPECT_EQ(report.trouble, "refused: another run is being taken");
}

TEST_F(tcp_replay_test, tells_how_many_events_the_daemon_had_taken_before) {
  make_file(20, 1);
  fake_daemon daemon([&](stream& s, int connection) {
    std::uint64_t events = 0;
    for (record r; s.read(r);) {
      if (r.header.type == record_type::event) ++events;
      s.acknowledge(r.header.sequence, events);
      if (connection == 0 && events == 5) return true; // breaks off
    }
    return false;
  });
  const auto report = replay(daemon.where(), 1, 1);
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(report.reconnections, 1U);
  EXPECT_EQ(report.known, 20U) << "of both connections";
  EXPECT_NE(to_table(report).find("already known"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"known\":"), std::string::npos);
}

TEST_F(tcp_replay_test, keeps_quiet_of_a_daemon_that_knew_nothing) {
  make_file(5, 1);
  fake_daemon daemon([&](stream& s, int) {
    for (record r; s.read(r);) s.acknowledge(r.header.sequence);
    return false;
  });
  const auto report = replay(daemon.where());
  EXPECT_EQ(report.known, 0U);
  EXPECT_EQ(to_table(report).find("already known"), std::string::npos);
}

TEST_F(tcp_replay_test, tries_again_when_there_was_no_place) {
  make_file(5, 1);
  fake_daemon daemon([&](stream& s, int connection) {
    record r;
    if (connection == 0) {
      EXPECT_TRUE(s.read(r));
      s.answer(record_type::refusal, std::as_bytes(std::span(no_place_left)));
    }
    while (s.read(r)) {
      if (connection > 0) s.acknowledge(r.header.sequence);
    }
    return connection == 0;
  });
  const auto report = replay(daemon.where());
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(report.acknowledged, 5U);
  EXPECT_EQ(report.reconnections, 1U);
}

TEST_F(tcp_replay_test, a_daemon_without_a_place_is_given_up) {
  make_file(5, 1);
  std::atomic<bool> over = false;
  fake_daemon daemon([&](stream& s, int) {
    record r;
    if (over || !s.read(r)) return false;
    s.answer(record_type::refusal, std::as_bytes(std::span(no_place_left)));
    while (s.read(r)) {
    }
    return true;
  });
  const auto report = replay_until_given_up(daemon.where());
  over = true;
  EXPECT_FALSE(report.finished);
  // On a busy machine the last answer may not have come in time.
  const bool refused = report.trouble == "refused: " + std::string(no_place_left);
  const bool silent = report.trouble.find("not acknowledged") != std::string::npos;
  EXPECT_TRUE(refused || silent) << report.trouble;
}

TEST_F(tcp_replay_test, says_when_nobody_listens) {
  make_file(1, 1);
  destination closed;
  {
    const fake_daemon gone([](stream&, int) { return false; });
    closed = gone.where();
  }
  EXPECT_THROW((void)replay(closed), std::runtime_error);
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
  static tcp_replay_settings settings_for(std::vector<destination> to) {
    tcp_replay_settings s;
    s.to = std::move(to);
    s.rate = {replay_rate::kind::events, 2000};
    s.time_limit = std::chrono::seconds(3);
    return s;
  }
};

TEST_F(several_daemons_test, take_events_in_turn_and_are_told_their_number) {
  make_file(30, 2);
  std::array<taken_records, 3> taken;
  replay_report report;
  {
    const fake_daemon a(takes_all(taken[0]));
    const fake_daemon b(takes_all(taken[1]));
    const fake_daemon c(takes_all(taken[2]));
    report = tcp_replay(*source_, settings_for({a.where(), b.where(), c.where()})).run({});
  }
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(report.acknowledged, 60U);
  ASSERT_EQ(report.nodes.size(), 3U);
  std::set<event_name> all;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT(taken[i].events.size(), 10U) << "a busy one is passed over, but not for long";
    EXPECT_EQ(report.nodes[i].acknowledged, taken[i].events.size());
    EXPECT_EQ(taken[i].ended, taken[i].events_by_spill());
    all.insert(taken[i].events.begin(), taken[i].events.end());
  }
  EXPECT_EQ(all.size(), 60U);
}

TEST_F(several_daemons_test, take_spills_in_turn) {
  make_file(10, 4);
  std::array<taken_records, 2> taken;
  replay_report report;
  {
    const fake_daemon a(takes_all(taken[0]));
    const fake_daemon b(takes_all(taken[1]));
    auto settings = settings_for({a.where(), b.where()});
    settings.share = replay_share::by_spill;
    report = tcp_replay(*source_, settings).run({});
  }
  EXPECT_TRUE(report.finished) << report.trouble;
  using sums = std::map<std::uint32_t, std::uint32_t>;
  EXPECT_EQ(taken[0].ended, (sums{{1, 10}, {2, 0}, {3, 10}, {4, 0}}));
  EXPECT_EQ(taken[1].ended, (sums{{1, 0}, {2, 10}, {3, 0}, {4, 10}}));
}

TEST_F(several_daemons_test, what_a_dead_one_has_not_acknowledged_goes_to_another) {
  make_file(100, 2);
  taken_records taken;
  std::set<event_name> safe; // that the dead one acknowledged
  std::vector<event_name> unsafe;
  replay_report report;
  {
    const fake_daemon dies([&](stream& s, int) {
      for (record r; s.read(r);) {
        if (r.header.type != record_type::event) continue;
        if (unsafe.size() == 5) return false; // and no program listens any more
        if (safe.size() < 10) {
          safe.insert(name_of(r));
          s.acknowledge(r.header.sequence);
        } else {
          unsafe.push_back(name_of(r));
        }
      }
      return false;
    });
    const fake_daemon lives(takes_all(taken));
    report = tcp_replay(*source_, settings_for({dies.where(), lives.where()})).run({});
  }
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(report.events, 200U);
  EXPECT_EQ(report.acknowledged, 200U);
  EXPECT_EQ(safe.size() + taken.events.size(), 200U);
  ASSERT_EQ(unsafe.size(), 5U);
  for (const auto& e : unsafe) EXPECT_TRUE(taken.events.contains(e));
  EXPECT_EQ(report.nodes[0].acknowledged, 10U);
  EXPECT_GE(report.nodes[0].handed_on, 5U);
  EXPECT_FALSE(report.nodes[0].there);
  EXPECT_EQ(report.handed_on, report.nodes[0].handed_on);
  EXPECT_EQ(taken.ended, taken.events_by_spill());
}

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
    report = tcp_replay(*source_, settings_for({keeps_silent.where(), lives.where()})).run({});
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
    report = tcp_replay(*source_, settings_for({comes_back.where(), lives.where()})).run({});
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
    report = tcp_replay(*source_, settings_for({closed, lives.where()})).run({});
  }
  EXPECT_TRUE(report.finished) << report.trouble;
  EXPECT_EQ(taken.events.size(), 20U);
  EXPECT_NE(report.nodes[0].trouble.find("cannot connect"), std::string::npos);
  EXPECT_NE(to_table(report).find("gone: cannot connect"), std::string::npos) << to_table(report);
  EXPECT_THROW((void)tcp_replay(*source_, settings_for({closed, closed})), std::runtime_error);
}

/// What no daemon says, after it took a record.
const std::array<std::pair<const char*, void (*)(stream&, const record&)>, 4> wrong_answers{
    {{"its response is not a record",
      [](stream& s, const record&) { s.send_raw(std::string(100, 'x')); }},
     {"its response has a wrong checksum", [](stream& s, const record&) { s.answer_damaged(); }},
     {"it acknowledged record 1000, but the last one sent is ",
      [](stream& s, const record&) { s.acknowledge(1000); }},
     {"it already had 9223372036854775808 events of ", [](stream& s, const record& r) {
        s.acknowledge(r.header.sequence, std::uint64_t{1} << 63);
      }}}};

TEST_F(several_daemons_test, go_on_without_one_that_says_what_no_daemon_says) {
  make_file(30, 2);
  for (const auto& [words, say] : wrong_answers) {
    std::atomic<int> connections = 0;
    taken_records taken;
    replay_report report;
    {
      const fake_daemon wrong([&](stream& s, int) {
        ++connections;
        record r;
        if (s.read(r)) say(s, r);
        while (s.read(r)) {
        }
        return true;
      });
      const fake_daemon lives(takes_all(taken));
      report = tcp_replay(*source_, settings_for({wrong.where(), lives.where()})).run({});
    }
    EXPECT_TRUE(report.finished) << words << ": " << report.trouble;
    EXPECT_EQ(taken.events.size(), 60U) << words;
    EXPECT_EQ(report.acknowledged, 60U) << words;
    EXPECT_EQ(connections, 1) << "it is not connected to again: " << words;
    EXPECT_NE(report.nodes[0].trouble.find(words), std::string::npos) << report.nodes[0].trouble;
  }
}

TEST_F(several_daemons_test, are_given_up_when_none_acknowledges) {
  make_file(20, 1);
  const auto silent = [](stream& s, int) {
    for (record r; s.read(r);) {
    }
    return true;
  };
  const fake_daemon a(silent);
  const fake_daemon b(silent);
  auto settings = settings_for({a.where(), b.where()});
  settings.time_limit = short_time_limit;
  const auto report = tcp_replay(*source_, settings).run({});
  EXPECT_FALSE(report.finished);
  EXPECT_NE(report.trouble.find("are not acknowledged 0.3 s"), std::string::npos) << report.trouble;
}

} // namespace
