// SPDX-License-Identifier: Apache-2.0
// What a watch sees of a receiver, and of the daemons that a test plays.
#include "receiver/watch.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/transport/outbox/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "tools/status/http_get.hpp"
#include "transport/format/time.hpp"
#include "transport/link/link_message.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

bytes block_of(std::uint64_t session, std::uint64_t sequence, std::uint32_t node,
               std::uint64_t sealed_at = nanoseconds_since_1970()) {
  std::mt19937 random(static_cast<std::uint32_t>(sequence));
  event_recipe recipe;
  recipe.key = {1, static_cast<std::uint32_t>(1000 * session + sequence)};
  recipe.fragments = 1;
  bytes block = make_block({make_event(recipe, random).packed}, session, sequence);
  auto header = load<block_header>(block.data());
  header.node = node;
  header.run = 77;
  header.sealed_at = sealed_at;
  seal_header(header);
  store(block.data(), header);
  return block;
}

void say_hello(played_daemon& from, std::uint64_t session, std::uint32_t node) {
  bytes body(sizeof(link_hello_body));
  link_hello_body who;
  who.run = 77;
  who.node = node;
  store(body.data(), who);
  from.send(link_message::hello, session, 1, body);
}

/// A receiver whose thread is the test.
class watched_receiver {
public:
  explicit watched_receiver(const std::string& folder, std::chrono::nanoseconds limit = 10s)
      : store_({folder}), receiver_(settings_, store_, nullptr),
        watch_(internet_address{"127.0.0.1", 0}, settings_, store_, receiver_, service_manager(""),
               {}, limit) {}

  [[nodiscard]] std::string endpoint() const { return receiver_.endpoint(); }
  /// Takes so many messages.
  void take(std::uint64_t messages) {
    for (const auto end = steady_clock::now() + patience;
         receiver_.counters().messages < messages && steady_clock::now() < end;)
      (void)receiver_.step(10ms);
    ASSERT_EQ(receiver_.counters().messages, messages);
  }
  boost::json::value status(time_point now) {
    watch_.look(now);
    const auto answer = http_get(port(), "/status");
    return answer.good() ? boost::json::parse(answer.body) : boost::json::value();
  }
  [[nodiscard]] unsigned ask(const std::string& page) const {
    return http_get(port(), page).status;
  }
  void look(time_point now) { watch_.look(now); }
  /// Looks for as long as a silent daemon is missing after.
  void look_on(time_point from) {
    for (auto at = from; at <= from + 3s; at += 500ms) watch_.look(at);
  }

private:
  [[nodiscard]] std::uint16_t port() const {
    const std::string& at = watch_.address();
    return read_port(at.substr(at.rfind(':') + 1, at.size() - at.rfind(':') - 2)).value_or(0);
  }

  receive_settings settings_ = any_port();
  store_writer store_;
  block_receiver receiver_;
  receive_watch watch_;
};

TEST(receive_watch, knows_clocks_that_differ_and_blocks_that_waited) {
  constexpr std::uint64_t hour = 3'600'000'000'000;
  constexpr std::uint64_t now = 1'700'000'000ULL * 1'000'000'000;
  EXPECT_EQ(block_lag(now - 5, now), 5ns);
  EXPECT_EQ(block_lag(now + 5, now), -5ns);
  EXPECT_EQ(block_lag(now - 24 * 366 * hour, now), 24h * 366);
  EXPECT_EQ(block_lag(now - 24 * 366 * hour - 1, now), std::nullopt);
  EXPECT_EQ(block_lag(now + 24 * hour, now), -24h);
  EXPECT_EQ(block_lag(now + 24 * hour + 1, now), std::nullopt);
}

TEST(receive_watch, names_what_is_missing_of_a_silent_daemon) {
  scratch_folder folder;
  watched_receiver far(folder.path());
  played_daemon near(far.endpoint());
  say_hello(near, 9, 3);
  far.take(1);
  const auto begun = far.status(steady_clock::now() + 1s);
  EXPECT_EQ(begun.at("daemons").at(0).at("state").as_string(), "idle") << "before its first block";
  EXPECT_EQ(begun.at("daemons").at(0).at("name").as_string(), "address 127.0.0.1");
  near.send(link_message::block, 9, 1, block_of(9, 1, 3));
  far.take(2);
  const auto woken = steady_clock::now() + 10s;
  EXPECT_TRUE(far.status(woken).at("missing").as_array().empty()) << "the receiver stood still";
  far.look_on(woken);
  const auto silent = far.status(woken + 4s);
  const auto& daemon = silent.at("daemons").at(0);
  EXPECT_EQ(daemon.at("state").as_string(), "missing");
  EXPECT_EQ(silent.at("state").at("degraded").at(0).as_string(), "node_missing");
  const auto& part = silent.at("missing").at(0);
  EXPECT_EQ(part.at("node"), daemon.at("node"));
  EXPECT_EQ(part.at("run"), 77);
  EXPECT_EQ(part.at("after").at("spill"), 1);
  EXPECT_EQ(part.at("after").at("event"), 9001);
  EXPECT_EQ(daemon.at("last_event"), part.at("after"));
  EXPECT_TRUE(part.at("back_after").is_null());
}

TEST(receive_watch, names_the_last_event_that_was_stored_before_its_start) {
  scratch_folder folder;
  {
    watched_receiver before(folder.path());
    played_daemon near(before.endpoint());
    say_hello(near, 9, 3);
    for (std::uint64_t n = 1; n <= 5; ++n) near.send(link_message::block, 9, n, block_of(9, n, 3));
    before.take(6);
  }
  watched_receiver far(folder.path());
  played_daemon near(far.endpoint());
  say_hello(near, 9, 3);
  far.take(1);
  far.look_on(steady_clock::now());
  const auto silent = far.status(steady_clock::now() + 4s);
  EXPECT_EQ(silent.at("missing").at(0).at("after").at("event"), 9005);
  const auto& daemon = silent.at("daemons").at(0);
  EXPECT_EQ(daemon.at("last_event"), silent.at("missing").at(0).at("after"));
  EXPECT_EQ(daemon.at("connected"), false) << "as it is missing";
}

TEST(receive_watch, measures_rates_and_the_time_until_the_disk_is_full) {
  scratch_folder folder;
  watched_receiver far(folder.path());
  played_daemon near(far.endpoint());
  near.hello(9, 1);
  far.take(1);
  const auto start = steady_clock::now() + 1s;
  EXPECT_TRUE(far.status(start).at("disk").at("seconds_left").is_null()) << "nothing is written";
  near.send(link_message::block, 9, 1, block_of(9, 1, 3));
  far.take(2);
  far.look(start + 1s);
  for (std::uint64_t n = 2; n <= 5; ++n) near.send(link_message::block, 9, n, block_of(9, n, 3));
  far.take(6);
  const auto status = far.status(start + 3s);
  const auto& daemon = status.at("daemons").at(0);
  EXPECT_DOUBLE_EQ(daemon.at("events_per_second").to_number<double>(), 2);
  EXPECT_GT(daemon.at("bytes_per_second").to_number<double>(), 0);
  const double left = status.at("disk").at("seconds_left").to_number<double>();
  const double free = status.at("disk").at("free").to_number<double>();
  const double written = status.at("store").at("bytes").to_number<double>();
  EXPECT_GT(left, 2.9 * free / written) << "since the start, a little more than 3 s ago";
  EXPECT_LT(left, 10 * free / written);
}

TEST(receive_watch, says_when_the_thread_that_stores_stands_still) {
  scratch_folder folder;
  watched_receiver far(folder.path(), 0s);
  EXPECT_EQ(far.ask("/healthz"), 503U);
  far.look(steady_clock::now() + 1min);
  EXPECT_EQ(far.ask("/healthz"), 200U);
}

} // namespace
} // namespace l3
