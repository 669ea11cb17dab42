// SPDX-License-Identifier: Apache-2.0
// Forwarder and receiver over loopback, with everything in between that can go wrong.
#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "tests/transport/outbox/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "transport/outbox/link_connection.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

TEST(link, stores_everything_and_says_goodbye) {
  scratch_folder folder;
  receiving_end far(folder.path());
  {
    sending_end near(link_to(far.endpoint(), 1h));
    EXPECT_TRUE(eventually([&] { return near.sender.connected(); }));
    near.append(1, 500);
    near.box.batch_done(3);
    EXPECT_TRUE(near.all_stored());
    EXPECT_EQ(near.safety.up_to(), 3U);
    EXPECT_EQ(near.sender.counters().acknowledged.get(), near.box.last_sealed());
    EXPECT_EQ(near.sender.counters().resent.get(), 0U);
    EXPECT_EQ(near.box.latency().count(), 500U);
  }
  EXPECT_TRUE(eventually([&] { return far.counters().goodbyes == 1; }));
  for (const auto& [session, peer] : far.still_receiver().peers()) EXPECT_TRUE(peer.gone);
  expect_stored(folder.path(), 500);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

/// A port of TCP at which somebody listens.
class listening_port {
public:
  listening_port() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in here = loopback(0);
    socklen_t length = sizeof here;
    auto* const address = reinterpret_cast<sockaddr*>(&here);
    EXPECT_EQ(::bind(socket_.get(), address, length), 0);
    EXPECT_EQ(::listen(socket_.get(), 16), 0);
    EXPECT_EQ(::getsockname(socket_.get(), address, &length), 0);
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(here.sin_port));
  }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] file_descriptor accept() const {
    return file_descriptor(::accept(socket_.get(), nullptr, nullptr));
  }

private:
  file_descriptor socket_;
  std::string endpoint_;
};

/// A receiver written by hand, as far as the greeting of ZMTP 3.0.
class bare_receiver {
public:
  [[nodiscard]] std::string endpoint() const { return port_.endpoint(); }
  void greet() {
    peer_ = port_.accept();
    std::string greeting(64, '\0');
    greeting[0] = '\xff';
    greeting[9] = '\x7f';
    greeting[10] = 3;
    greeting.replace(12, 4, "NULL");
    const std::string ready = "\5READY\13Socket-Type" + std::string("\0\0\0\6", 4) + "ROUTER";
    say(greeting + '\4' + static_cast<char>(ready.size()) + ready);
  }
  void say(const std::string& bytes) {
    EXPECT_EQ(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void reset() {
    const linger at_once{1, 0};
    EXPECT_EQ(::setsockopt(peer_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    peer_ = file_descriptor();
  }

private:
  listening_port port_;
  file_descriptor peer_;
};

/// As while the forwarder waits for a disk. Heartbeats of the library would abort the process here.
TEST(link, survives_the_reset_of_a_connection_whose_messages_wait) {
  bare_receiver far;
  forward_settings settings;
  settings.to = far.endpoint();
  link_connection near(settings, {"", settings.to});
  near.connect_once();
  far.greet();
  std::string messages;
  for (int i = 0; i < 2000; ++i) messages += {1, 1, 'x', 0, 1, 'y'};
  far.say(messages);
  std::this_thread::sleep_for(200ms);
  far.reset();
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(eventually([&] { // the library looks at the connection again when messages are read
    EXPECT_FALSE(near.receive()) << "no message of the link";
    return near.take_events([](const std::string&) {}).down;
  }));
}

TEST(link, gives_up_draining_at_its_deadline) {
  safe_batches safety;
  outbox box(small_blocks(), identity, safety);
  ASSERT_TRUE(box.append(bytes(100), {}));
  box.seal();
  link_pace pace(bit_rate{});
  forwarder sender(link_to("tcp://127.0.0.1:1"), box, pace, link_pace::share::fresh, nullptr);
  std::stop_source stop;
  stop.request_stop();
  sender.run(stop.get_token(), 1ms);
  EXPECT_EQ(box.blocks_waiting(), 1U);
  EXPECT_FALSE(sender.connected());
}

// A daemon with several connections to its receiver: the blocks of a lane go over all of them, are
// stored in order, and one whose cable is pulled costs nothing but its share.

/// A cable between two ends of TCP on this machine, which a test can pull: then bytes are taken
/// from neither end, and none is told.
class cable {
public:
  /// To "tcp://127.0.0.1:port".
  explicit cable(const std::string& to)
      : to_(static_cast<std::uint16_t>(std::stoi(to.substr(to.rfind(':') + 1)))) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  [[nodiscard]] const std::string& endpoint() const { return port_.endpoint(); }
  void pull(bool is_pulled = true) { pulled_ = is_pulled; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; } ///< that went through, both ways

private:
  struct pair {
    file_descriptor near;
    file_descriptor far;
  };

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (pulled_) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      std::vector<pollfd> all{{port_.descriptor(), POLLIN, 0}};
      for (const pair& p : pairs_) {
        all.push_back({p.near.get(), POLLIN, 0});
        all.push_back({p.far.get(), POLLIN, 0});
      }
      if (::poll(all.data(), all.size(), 5) <= 0) continue;
      for (std::size_t i = pairs_.size(); i-- > 0;) {
        const bool lives = (all[1 + 2 * i].revents == 0 || carry(pairs_[i].near, pairs_[i].far)) &&
                           (all[2 + 2 * i].revents == 0 || carry(pairs_[i].far, pairs_[i].near));
        if (!lives) pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (all[0].revents != 0) connect();
    }
  }
  void connect() {
    pair p{port_.accept(), file_descriptor(::socket(AF_INET, SOCK_STREAM, 0))};
    const sockaddr_in there = loopback(to_);
    if (::connect(p.far.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0)
      pairs_.push_back(std::move(p));
  }
  /// False: one end has closed it.
  bool carry(const file_descriptor& from, const file_descriptor& to) {
    const ssize_t got = ::recv(from.get(), buffer_.data(), buffer_.size(), 0);
    for (ssize_t done = 0; done < got;) {
      const ssize_t n = ::send(to.get(), buffer_.data() + done,
                               static_cast<std::size_t>(got - done), MSG_NOSIGNAL);
      if (n <= 0) return false;
      done += n;
    }
    if (got > 0) bytes_ += static_cast<std::uint64_t>(got);
    return got > 0;
  }

  std::uint16_t to_;
  listening_port port_;
  std::array<char, 65536> buffer_{};
  std::vector<pair> pairs_;
  std::atomic<bool> pulled_ = false;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::jthread thread_;
};

class several_ways : public testing::Test {
protected:
  scratch_folder folder_;
  receiving_end far_{folder_.path(), 64};
  cable first_{far_.endpoint()};
  cable second_{far_.endpoint()};
  forward_settings settings_ = [this] {
    forward_settings s = link_to(far_.endpoint(), 2s);
    s.from = {{"127.0.0.2", first_.endpoint()}, {"127.0.0.3", second_.endpoint()}};
    return s;
  }();
};

TEST_F(several_ways, of_which_one_begins_at_an_address_of_another_machine) {
  settings_.from = {{"203.0.113.1", {}}, {"127.0.0.2", {}}};
  sending_end near(settings_);
  near.append(1, 200);
  EXPECT_TRUE(near.all_stored());
  EXPECT_TRUE(eventually([&] {
    return near.reported("no network card of this machine has the address 203.0.113.1");
  }));
  EXPECT_FALSE(near.reported("127.0.0.2"));
}

TEST_F(several_ways, share_the_blocks_of_a_lane) {
  sending_end near(settings_);
  EXPECT_TRUE(eventually([&] { return far_.counters().connections.let_in == 2; }));
  near.append(1, 100);
  EXPECT_TRUE(near.all_stored()); // both are welcome by now
  const auto before = std::pair(first_.bytes(), second_.bytes());
  near.append(101, 3000);
  EXPECT_TRUE(near.all_stored());
  const auto over_first = static_cast<double>(first_.bytes() - before.first);
  const auto over_second = static_cast<double>(second_.bytes() - before.second);
  EXPECT_GT(over_first / (over_first + over_second), 0.1);
  EXPECT_GT(over_second / (over_first + over_second), 0.1);
  far_.kill();
  expect_stored(folder_.path(), 3000);
}

TEST_F(several_ways, of_which_one_is_pulled_go_on_without_it_and_with_it_again) {
  sending_end near(settings_);
  EXPECT_TRUE(eventually([&] { return far_.counters().connections.let_in == 2; }));
  near.append(1, 200);
  EXPECT_TRUE(near.all_stored());
  second_.pull();
  const auto begun = steady_clock::now();
  near.append(201, 1200);
  EXPECT_TRUE(near.all_stored());
  EXPECT_LT(steady_clock::now() - begun, 1900ms)
      << "before blocks go again for silence, and before ZeroMQ knows that it is dead";
  second_.pull(false);
  const auto before = second_.bytes();
  std::uint32_t last = 1200;
  EXPECT_TRUE(eventually([&] {
    near.append(last + 1, last + 20);
    last += 20;
    return near.all_stored() && second_.bytes() > before + (1 << 18);
  }));
  EXPECT_EQ(near.sender.counters().impossible.get(), 0U);
  EXPECT_LT(near.sender.counters().resent.get(), 100U);
}

TEST_F(several_ways, that_lead_to_two_receivers_have_one_as_long_as_it_is_there) {
  const scratch_folder other_folder;
  receiving_end other(other_folder.path(), 64);
  settings_.from = {{"127.0.0.2", far_.endpoint()}, {"127.0.0.3", other.endpoint()}};
  sending_end near(settings_);
  EXPECT_TRUE(eventually([&] {
    return far_.counters().connections.let_in == 1 && other.counters().connections.let_in == 1;
  }));
  near.append(1, 1000);
  EXPECT_TRUE(near.all_stored());
  const bool by_far = far_.counters().stored_events == 1000;
  EXPECT_EQ(far_.counters().stored_events + other.counters().stored_events, 1000U);
  EXPECT_TRUE(by_far || other.counters().stored_events == 1000) << "not some by each";
  receiving_end& lanes = by_far ? far_ : other;
  receiving_end& unused = by_far ? other : far_;
  EXPECT_TRUE(eventually([&] {
    return near.reported("the connection to " + unused.endpoint() + " from 127.0.0." +
                         (by_far ? "3" : "2") + " reaches a different receiver than the one to " +
                         lanes.endpoint());
  }));
  lanes.kill();
  near.append(1001, 1200);
  EXPECT_TRUE(near.all_stored()) << "by the other";
  EXPECT_EQ(unused.counters().stored_events, 200U);
}

TEST_F(several_ways, keep_what_came_early_until_the_missing_block_has_come) {
  played_daemon one(far_.endpoint());
  played_daemon other(far_.endpoint());
  constexpr std::uint64_t session = 9;
  std::mt19937 random(1);
  std::vector<bytes> blocks;
  for (std::uint64_t n = 1; n <= 4; ++n) {
    event_recipe recipe;
    recipe.key = {1, static_cast<std::uint32_t>(n)};
    blocks.push_back(make_block({make_event(recipe, random).packed}, session, n));
  }
  one.begin(session, 1, 0);
  other.begin(session, 1, 0);
  other.give(session, 3, blocks[2], 0);
  other.give(session, 2, blocks[1], 0);
  one.give(session, 1, blocks[0], 3);
  one.give(session, 4, blocks[3], 4);
  EXPECT_EQ(far_.counters().early.get(), 2U);
  EXPECT_EQ(far_.counters().gaps.get(), 0U);
  far_.kill();
  expect_stored(folder_.path(), 4);
}

} // namespace
} // namespace l3
