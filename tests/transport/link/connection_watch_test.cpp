// SPDX-License-Identifier: Apache-2.0
#include "transport/link/connection_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>

#include "tests/transport/link/stranger.hpp"
#include "transport/link/link_places.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

/// A socket whose monitor tells a watch.
class watched_socket {
public:
  explicit watched_socket(connection_watch::event_function on_event, int first_descriptor = 0) {
    watch_ = std::make_unique<connection_watch>(
        context_, socket_, "inproc://events",
        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL,
        watch_limits{.stranger = kibibytes(24),
                     .trusted = kibibytes(24),
                     .memory = {},
                     .first_descriptor = first_descriptor},
        counters_, std::move(on_event), [](const std::string&) {});
    socket_.set(zmq::sockopt::linger, 0);
    socket_.bind("tcp://127.0.0.1:*");
  }
  ~watched_socket() { close(); }
  void close() {
    socket_.close();
    watch_.reset();
  }
  [[nodiscard]] const watch_counters& counters() const { return counters_; }
  [[nodiscard]] std::string endpoint() const { return socket_.get(zmq::sockopt::last_endpoint); }

private:
  zmq::context_t context_{1};
  watch_counters counters_;
  std::unique_ptr<connection_watch> watch_;
  zmq::socket_t socket_{context_, zmq::socket_type::router};
};

TEST(a_connection_watch, has_told_all_when_it_ends) {
  for (int round = 0; round < 20; ++round) {
    int accepted = 0;
    int refused = 0;
    watched_socket watched([&](std::uint16_t what, std::int32_t) {
      ++(what == ZMQ_EVENT_ACCEPTED ? accepted : refused);
    });
    stranger one(watched.endpoint());
    one.say("GET / HTTP/1.1\r\n\r\nthis is no greeting of ZeroMQ\r\n");
    ASSERT_TRUE(one.is_left(10s));
    watched.close();
    ASSERT_EQ(accepted, 1);
    ASSERT_GE(refused, 1);
  }
}

TEST(a_connection_watch, shuts_down_the_oldest_of_as_many_as_there_may_be_for_one_more) {
  constexpr std::size_t most = watch_limits().connections;
  std::atomic<std::size_t> accepted = 0;
  watched_socket watched([&](std::uint16_t what, std::int32_t) {
    if (what == ZMQ_EVENT_ACCEPTED) ++accepted;
  });
  std::vector<std::unique_ptr<stranger>> all;
  const auto come = [&] {
    all.push_back(std::make_unique<stranger>(watched.endpoint()));
    while (accepted < all.size()) std::this_thread::yield(); // so that it is clear which is older
  };
  while (all.size() < most) come();
  EXPECT_FALSE(all.front()->is_left(200ms));
  EXPECT_EQ(watched.counters().crowded.get(), 0U);
  come();
  EXPECT_TRUE(all.front()->is_left(10s));
  EXPECT_FALSE(all[1]->is_left(200ms));
  watched.close();
  EXPECT_EQ(watched.counters().crowded.get(), 1U);
}

/// As a person or the service manager may do it to a program that runs.
class lowered_limit {
public:
  explicit lowered_limit(rlim_t descriptors) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit lower{descriptors, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~lowered_limit() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  lowered_limit(const lowered_limit&) = delete;
  lowered_limit& operator=(const lowered_limit&) = delete;

private:
  rlimit before_{};
};

/// The places that it had at its start lie beyond the limit, where it could watch nothing.
TEST(a_connection_watch, watches_a_connection_that_comes_when_the_limit_was_lowered) {
  std::latch told(1);
  watched_socket watched(
      [&](std::uint16_t what, std::int32_t) {
        if (what == ZMQ_EVENT_ACCEPTED) told.count_down();
      },
      link_places::of(RLIM_INFINITY).first_of_watch);
  const lowered_limit lower(link_places::fewest_descriptors);
  const int its_place = link_places::of(link_places::fewest_descriptors).first_of_watch;
  ASSERT_LT(::fcntl(its_place, F_GETFD), 0);
  const stranger one(watched.endpoint());
  told.wait();
  EXPECT_GE(::fcntl(its_place, F_GETFD), 0);
  EXPECT_FALSE(one.is_left(300ms));
}

/// ZeroMQ's own end of the monitor has a mark of 1000 beside that of the watch.
TEST(a_connection_watch, has_eleven_thousand_events_waiting_and_none_beyond_and_loses_none) {
  constexpr int most = 10'000 + 1000;
  std::latch goes_on(1);
  std::atomic<int> accepted = 0;
  std::atomic<int> told = 0;
  watched_socket watched([&](std::uint16_t what, std::int32_t) {
    goes_on.wait();
    ++told;
    if (what == ZMQ_EVENT_ACCEPTED) ++accepted;
  });
  int opened = 0;
  std::optional<stranger> last;
  const auto next_is_answered = [&](std::chrono::milliseconds within) {
    last.emplace(watched.endpoint());
    ++opened;
    return last->is_answered(within);
  };
  while (opened <= most && next_is_answered(1s)) {
  }
  goes_on.count_down();
  EXPECT_TRUE(last->is_answered(10s)) << "ZeroMQ does not go on";
  watched.close();
  EXPECT_EQ(accepted, opened);
  // Beside those that waited: one in the hands of the watch, what became of the last two strangers,
  // and the end.
  EXPECT_GE(told, most);
  EXPECT_LE(told, most + 10);
}

} // namespace
} // namespace l3::test
