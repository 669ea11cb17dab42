// SPDX-License-Identifier: Apache-2.0
// Replay over loopback TCP into a daemon of the test's own, which acknowledges, refuses, goes away
// or lies as a test wants.
#include <gtest/gtest.h>

#include <poll.h>

#include <atomic>
#include <functional>
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
  explicit stream(file_descriptor socket) : socket_(std::move(socket)) {}

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

class tcp_replay_test : public testing::Test {
protected:
  void make_file(std::uint32_t events, std::uint32_t spills) {
    write_small_file(folder_ / "a", events, spills);
    source_ = std::make_unique<replay_source>(folder_ / "a");
  }
  [[nodiscard]] replay_report replay(const destination& to, std::uint32_t loops = 1,
                                     std::uint64_t window = 1 << 20) const {
    tcp_replay_settings s;
    s.to = to;
    s.rate = {replay_rate::kind::unlimited, 0};
    s.loops = loops;
    s.window = window;
    return tcp_replay(*source_, s).run({});
  }
  [[nodiscard]] replay_report replay_until_given_up(const destination& to) const {
    tcp_replay_settings s;
    s.to = to;
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
  settings.to = daemon->where();
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
  EXPECT_EQ(report.trouble, "7 records are not acknowledged 0.3 s after the connection broke");
}

TEST_F(tcp_replay_test, gives_up_a_peer_that_acknowledges_a_little_and_closes) {
  make_file(1000, 1);
  std::atomic<int> connections = 0;
  const fake_daemon daemon([&](stream& s, int) {
    record r;
    // The hello, the beginning of the spill, and one record that was not acknowledged before.
    for (int i = 0; i < 3 && s.read(r);) ++i;
    s.acknowledge(r.header.sequence);
    while (connections == 0 && s.read(r) && r.header.sequence < 1000) {
    }
    return ++connections < 1000;
  });
  const auto report = replay_until_given_up(daemon.where());
  EXPECT_FALSE(report.finished);
  EXPECT_LE(connections, few);
  EXPECT_NE(report.trouble.find("after the connection broke"), std::string::npos) << report.trouble;
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
  s.to = daemon.where();
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

TEST_F(tcp_replay_test, does_not_believe_impossible_acknowledgements) {
  make_file(5, 1);
  fake_daemon daemon([&](stream& s, int) {
    record r;
    EXPECT_TRUE(s.read(r));
    s.acknowledge(1000);
    while (s.read(r)) {
    }
    return false;
  });
  EXPECT_THROW((void)replay(daemon.where()), std::runtime_error);
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

} // namespace
