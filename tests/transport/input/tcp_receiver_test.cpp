// SPDX-License-Identifier: Apache-2.0
// Record streams over loopback: acknowledged when safe, resumed after a break, refused with a
// reason, and no peer holds up the others.
#include "transport/input/tcp_receiver.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/transport/building/records.hpp"
#include "tests/transport/building/rig.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

/// A plain blocking client.
class client {
public:
  explicit client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    timeval limit{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~client() { hang_up(); }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  void send(std::span<const std::byte> b) {
    while (!b.empty()) {
      const auto n = ::send(socket_, b.data(), b.size(), MSG_NOSIGNAL);
      if (n <= 0) return; // the daemon closed: the answer says why
      b = b.subspan(static_cast<std::size_t>(n));
    }
  }
  void hello(const readout& crates) {
    send(record(record_type::hello, 0, ++sequence, hello_bytes(1, crates)));
  }
  void event(event_key key, const readout& crates) {
    send(record(record_type::event, key.spill, ++sequence, event_record_body(key, crates)));
  }

  /// The next record; nothing at the end of the stream.
  std::optional<std::pair<record_header, bytes>> receive() {
    record_header h;
    if (!read(reinterpret_cast<std::byte*>(&h), sizeof h)) return std::nullopt;
    EXPECT_EQ(check_header(h), std::nullopt);
    bytes body(h.body_bytes);
    if (!read(body.data(), body.size())) return std::nullopt;
    EXPECT_EQ(check_body(h, body), std::nullopt);
    return std::pair{h, body};
  }
  /// Reads until this sequence number is acknowledged; the last number if the stream ends before.
  std::uint64_t wait_acknowledged(std::uint64_t wanted) {
    while (acknowledged < wanted) {
      const auto r = receive();
      if (!r || r->first.type != record_type::acknowledgement) break;
      const auto next = load<acknowledgement_body>(r->second.data());
      EXPECT_GT(next.sequence, acknowledged) << "acknowledgements rise";
      EXPECT_GE(next.known, known);
      acknowledged = next.sequence;
      known = next.known;
    }
    return acknowledged;
  }
  /// The refusal's text; empty if the stream ends without.
  std::string refusal() {
    while (const auto r = receive()) {
      if (r->first.type == record_type::acknowledgement)
        acknowledged = load<acknowledgement_body>(r->second.data()).sequence;
      if (r->first.type != record_type::refusal) continue;
      EXPECT_FALSE(receive()) << "the connection is closed after it";
      return {reinterpret_cast<const char*>(r->second.data()), r->second.size()};
    }
    return {};
  }
  void half_close() { ::shutdown(socket_, SHUT_WR); }
  void hang_up() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

  std::uint64_t sequence = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t known = 0; ///< events that had come before, as acknowledged

private:
  bool read(std::byte* to, std::size_t n) {
    for (std::size_t got = 0; got < n;) {
      const auto more = ::recv(socket_, to + got, n - got, 0);
      if (more <= 0) return false;
      got += static_cast<std::size_t>(more);
    }
    return true;
  }
  int socket_;
};

tcp_settings loopback() {
  tcp_settings s;
  s.port = 0;
  s.max_connections = 4;
  return s;
}

rig_options small() {
  rig_options o;
  o.max_events = 2000;
  o.batch_age = 1h; // on the real clock, batches close when they are full
  return o;
}

class tcp : public testing::Test {
protected:
  explicit tcp(std::uint16_t threads = 1) : r(small()), crates(r.options.crates) {
    auto settings = loopback();
    settings.threads = threads;
    receiver.emplace(settings, 1, r.builder, [this] { return safe.load(); });
  }

  void wait_for(const std::function<bool()>& what) {
    const auto limit = steady_clock::now() + 20s;
    bool holds = what(); // perhaps for a moment only
    for (; !holds && steady_clock::now() < limit; holds = what()) std::this_thread::yield();
    ASSERT_TRUE(holds);
  }
  void stop() {
    receiver.reset();
    r.builder.drain(steady_clock::now());
    r.expect_balance();
    r.expect_bytes();
  }
  std::uint64_t refusals(refused reason) { return receiver->input(0).refused[reason]; }

  static constexpr std::uint64_t everything = ~std::uint64_t{0};
  rig r;
  readout crates;
  std::atomic<std::uint64_t> safe = everything;
  std::optional<tcp_receiver> receiver;
};

/// The body of an event with another time stamp in its first board.
bytes another_body(event_key key, const readout& crates) {
  auto body = event_record_body(key, crates);
  body[event_table_bytes(crates.size()) + l2::fragment_header_bytes + 7] ^= std::byte{1};
  return body;
}

constexpr const char* conflict_in_event_3 =
    "event 3 of spill 3 was received before with different bytes; it and all later records are "
    "refused: within run "
    "1 each event needs its own number; send other data under another run number (run.number)";

TEST_F(tcp, the_refusal_waits_for_the_acknowledgements_before_it) {
  client c(receiver->port());
  c.hello(crates);
  for (std::uint32_t n = 1; n <= 3; ++n) c.event({3, n}, crates);
  EXPECT_EQ(c.wait_acknowledged(4), 4U);
  safe = 0;
  c.event({3, 4}, crates);
  c.event({3, 5}, crates); // in the second batch
  c.send(record(record_type::event, 3, ++c.sequence, another_body({3, 3}, crates)));
  wait_for([&] { return refusals(refused::stream_conflict) == 1; });
  const auto turns = receiver->turns(0); // each as long as two looks at what is safe
  wait_for([&] { return receiver->turns(0) > turns + 5; });
  safe = everything;
  EXPECT_EQ(c.refusal(), conflict_in_event_3);
  EXPECT_EQ(c.acknowledged, 6U);
  stop();
}

TEST_F(tcp, a_peer_that_ends_its_stream_still_gets_its_acknowledgements) {
  safe = 0;
  client c(receiver->port());
  c.hello(crates);
  c.event({3, 1}, crates);
  c.half_close();
  wait_for([&] { return receiver->input(0).datagrams == 2; });
  wait_for([&] { return receiver->connections(0) == 0; });
  safe = everything;
  EXPECT_EQ(c.wait_acknowledged(2), 2U);
  EXPECT_FALSE(c.receive());
  EXPECT_EQ(receiver->input(0).refused.sum(), 0U);
  stop();
}

TEST_F(tcp, without_a_frame_the_sender_waits_and_goes_on) {
  r.pool.hold(true);
  client c(receiver->port());
  std::thread sending([&] {
    c.hello(crates);
    for (std::uint32_t n = 1; n <= 500; ++n) c.event({3, n}, crates);
  });
  wait_for([&] { return r.pool.submitted() == r.options.batches; });
  EXPECT_LE(r.counters.events_admitted, 3U * 4U);
  r.pool.hold(false);
  sending.join();
  EXPECT_EQ(c.wait_acknowledged(c.sequence), c.sequence);
  stop();
  EXPECT_EQ(r.pool.received.size(), 500U);
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
}

TEST_F(tcp, a_stalled_peer_holds_neither_a_frame_nor_the_others) {
  client stalled(receiver->port());
  stalled.hello(crates);
  const auto one = record(record_type::event, 3, 2, event_record_body({3, 500}, crates));
  stalled.send(std::span(one).first(3000));
  client busy(receiver->port());
  busy.hello(crates);
  for (std::uint32_t n = 1; n <= 50; ++n) busy.event({3, n}, crates);
  EXPECT_EQ(busy.wait_acknowledged(busy.sequence), busy.sequence);
  wait_for([&] { return r.pool.submitted() >= 10; });
  stalled.send(std::span(one).subspan(3000));
  EXPECT_EQ(stalled.wait_acknowledged(2), 2U);
  stop();
  EXPECT_EQ(r.pool.received.size(), 51U);
}

TEST_F(tcp, a_peer_that_breaks_the_format_is_told_and_counted) {
  const auto hello = record(record_type::hello, 0, 1, hello_bytes(1, crates));
  const auto event = [&](std::uint64_t sequence) {
    return record(record_type::event, 3, sequence, event_record_body({3, 1}, crates));
  };
  const auto told = [&](refused reason, const std::vector<bytes>& records) {
    const auto before = refusals(reason);
    client c(receiver->port());
    for (const auto& b : records) c.send(b);
    EXPECT_NE(c.refusal(), "");
    EXPECT_EQ(refusals(reason), before + 1) << name_of(reason);
  };
  const auto flipped = [](bytes b, std::size_t at) {
    b[at] ^= std::byte{1};
    return b;
  };
  told(refused::stream_magic, {bytes(100, std::byte{'G'})});
  told(refused::stream_version, {flipped(hello, 4)});
  told(refused::stream_checksum, {flipped(hello, 20)});
  told(refused::stream_checksum, {flipped(hello, 33)});
  told(refused::stream_content, {event(1)});
  told(refused::stream_content, {hello, record(record_type::hello, 0, 2, hello_bytes(1, crates))});
  told(refused::stream_content, {hello, record(record_type::acknowledgement, 0, 2, bytes(16))});
  told(refused::stream_sequence, {hello, event(1)});
  told(refused::stream_checksum, {hello, flipped(event(2), 5000)});
  told(refused::stream_content,
       {hello, record(record_type::event, 3, 2, bytes(max_event_body(crates)))}); // of no event
  told(refused::stream_length,
       {hello, record(record_type::event, 3, 2, bytes(max_event_body(crates) + 4))});
  told(refused::stream_content,
       {hello, record(record_type::event, 3, 2, event_record_body(0, {}))});
  EXPECT_EQ(r.counters.fragments_seen, 0U);
  told(refused::stream_sequence, {hello, event(3), event(2)});
  told(refused::stream_sequence, {hello, event(2), event(2)});

  client c(receiver->port());
  c.send(record(record_type::hello, 0, 1, hello_bytes(1, readout::koto())));
  EXPECT_EQ(c.refusal(), "the stream's readout (18 crates with 284 boards) is not the configured "
                         "one (3 crates with 6 boards)");

  client stranger(receiver->port());
  stranger.send(record(record_type::hello, 0, 1, hello_bytes(2, crates)));
  EXPECT_EQ(stranger.refusal(), "the stream has run 2, this daemon accepts run 1 (run.number)");

  client good(receiver->port());
  good.hello(crates);
  good.event({3, 1}, crates);
  EXPECT_EQ(good.wait_acknowledged(2), 2U);
  stop();
}

class tcp_on_threads : public tcp {
protected:
  tcp_on_threads() : tcp(3) {}
};

TEST_F(tcp_on_threads, connections_are_dealt_and_none_waits_for_another) {
  client stalled(receiver->port());
  stalled.hello(crates);
  const auto one = record(record_type::event, 3, 2, event_record_body({3, 500}, crates));
  stalled.send(std::span(one).first(3000));
  wait_for([&] { return receiver->input(0).datagrams == 1; });
  std::vector<std::jthread> busy;
  for (std::uint32_t c = 0; c < 2; ++c) {
    busy.emplace_back([&, c] {
      client out(receiver->port());
      out.hello(crates);
      for (std::uint32_t n = 1; n <= 50; ++n) out.event({3, 2 * n - c}, crates);
      EXPECT_EQ(out.wait_acknowledged(out.sequence), out.sequence);
    });
  }
  busy.clear();
  for (std::size_t t = 1; t < 3; ++t) EXPECT_EQ(receiver->input(t).datagrams, 51U);
  stalled.send(std::span(one).subspan(3000));
  EXPECT_EQ(stalled.wait_acknowledged(2), 2U);
  stop();
  EXPECT_EQ(r.pool.received.size(), 101U);
}

TEST_F(tcp_on_threads, the_limit_of_connections_holds_for_all) {
  std::vector<std::unique_ptr<client>> clients;
  for (int c = 0; c < 4; ++c) {
    clients.push_back(std::make_unique<client>(receiver->port()));
    clients.back()->hello(crates);
    EXPECT_EQ(clients.back()->wait_acknowledged(1), 1U);
  }
  EXPECT_NE(client(receiver->port()).refusal(), "");
  stop();
}

TEST_F(tcp, the_thread_takes_its_turns_when_nothing_comes) {
  const std::uint64_t before = receiver->turns(0);
  wait_for([&] { return receiver->turns(0) != before; });
}

} // namespace
} // namespace l3::test
