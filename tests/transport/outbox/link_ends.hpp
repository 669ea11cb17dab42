// SPDX-License-Identifier: Apache-2.0
// Both ends of an output link over loopback for tests: a receiver that can be killed and started
// again, a forwarder in its thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "receiver/block_receiver.hpp"
#include "tests/transport/store/packed_events.hpp"
#include "transport/format/endian.hpp"
#include "transport/outbox/forwarder.hpp"
#include "transport/outbox/outbox.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/store/store_writer.hpp"

namespace l3::test {

using namespace std::chrono_literals;

inline constexpr block_identity identity{0x77, 5, 1};
inline constexpr auto patience = 10s; ///< of a test, for things that must happen

/// Waits until it holds; what is waited for comes from other threads and sockets, so there is
/// nothing to be told by.
inline bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

inline receive_settings any_port() {
  receive_settings s;
  s.bind = "tcp://127.0.0.1:*";
  return s;
}

/// A store and a receiver that can be killed and started again at the same address.
class receiving_end {
public:
  explicit receiving_end(std::string folder, std::uint32_t credit = 8,
                         const receive_settings& more = {})
      : folder_(std::move(folder)), settings_(more) {
    settings_.credit = credit;
    if (more.bind == receive_settings().bind) settings_.bind = any_port().bind;
    start();
    settings_.bind = receiver_->endpoint();
  }
  ~receiving_end() { kill(); }

  void start() {
    store_ = std::make_unique<store_writer>(store_settings{folder_});
    receiver_ = std::make_unique<block_receiver>(settings_, *store_, [this](std::string_view text) {
      const std::lock_guard guard(lock_);
      said_.emplace_back(text);
    });
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) (void)receiver_->step(5ms);
    });
  }
  void kill() {
    thread_ = {};
    receiver_.reset();
    store_.reset();
  }

  [[nodiscard]] const std::string& endpoint() const { return settings_.bind; }
  [[nodiscard]] const receive_counters& counters() const { return receiver_->counters(); }
  /// What it said to a person so far.
  [[nodiscard]] std::vector<std::string> said() {
    const std::lock_guard guard(lock_);
    return said_;
  }
  /// What only the receiver's own thread may ask, when that has ended.
  [[nodiscard]] const block_receiver& still_receiver() {
    thread_ = {};
    return *receiver_;
  }

private:
  std::string folder_;
  receive_settings settings_;
  std::mutex lock_;
  std::vector<std::string> said_;
  std::unique_ptr<store_writer> store_;
  std::unique_ptr<block_receiver> receiver_;
  std::jthread thread_;
};

inline outbox_settings small_blocks() {
  outbox_settings s;
  s.memory = mebibytes(1);
  s.block = kibibytes(16);
  return s;
}

inline forward_settings link_to(const std::string& endpoint,
                                std::chrono::milliseconds limit = 200ms) {
  forward_settings s;
  s.to = endpoint;
  s.rate = {};
  s.acknowledge_time_limit = limit;
  return s;
}

/// An outbox and a forwarder in its thread. What it reports is kept.
struct sending_end {
  safe_batches safety;
  outbox box;
  std::mutex lock;
  std::set<std::string> reports;
  link_pace pace;
  forwarder sender;
  std::jthread thread;

  /// Its first blocks are sealed before it says hello.
  explicit sending_end(const forward_settings& settings, std::uint32_t events = 0,
                       const block_identity& who = identity)
      : box(small_blocks(), who, safety), pace(settings.rate),
        sender(settings, box, pace, link_pace::share::fresh, [this](std::string_view text) {
          const std::lock_guard guard(lock);
          reports.emplace(text);
        }) {
    append(1, events);
    box.seal();
    thread = std::jthread([this](const std::stop_token& stop) { sender.run(stop, patience); });
  }

  void append(std::uint32_t number) {
    std::mt19937 random(number);
    event_recipe recipe;
    recipe.key = {1, number};
    recipe.fragments = 1;
    const auto event = make_event(recipe, random).packed;
    while (!box.append(event, {})) (void)box.wait_for_room(patience, event.size());
  }
  void append(std::uint32_t first, std::uint32_t last) {
    for (auto i = first; i <= last; ++i) append(i);
  }
  [[nodiscard]] bool all_stored() {
    box.seal();
    return eventually([&] { return box.events_waiting() == 0; });
  }
  [[nodiscard]] bool reported(std::string_view part) {
    const std::lock_guard guard(lock);
    return std::any_of(reports.begin(), reports.end(),
                       [&](const auto& r) { return r.find(part) != r.npos; });
  }
};

/// Every event 1 … last is stored exactly once, and every block is good and in order.
inline void expect_stored(const std::string& folder, std::uint32_t last) {
  store_reader reader(folder);
  std::vector<std::byte> payload;
  std::uint32_t events = 0;
  std::uint64_t sequence = 0;
  while (const auto block = reader.next()) {
    ASSERT_TRUE(reader.read_payload(*block, payload));
    ASSERT_EQ(block->header.sequence, ++sequence);
    event_walk walk(payload, block->header);
    while (const auto e = walk.next()) ASSERT_EQ(load<packed_event>(e->data()).number, ++events);
  }
  EXPECT_EQ(events, last);
  EXPECT_EQ(reader.damaged(), 0U);
}

} // namespace l3::test
