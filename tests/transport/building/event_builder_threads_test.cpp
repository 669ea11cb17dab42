// SPDX-License-Identifier: Apache-2.0
// Event building from several threads at once: an event whose datagrams come through four rings,
// and as a record besides, comes out whole and once, and all that came twice is counted as such.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "tests/transport/building/records.hpp"
#include "tests/transport/building/rig.hpp"

namespace l3::test {
namespace {

using datagrams = std::vector<wire_datagram>;

constexpr std::uint32_t events = 400;
constexpr std::uint32_t threads = 4;
/// Threads are held up by milliseconds, more under a sanitizer: events must not run out of time.
constexpr auto long_time = std::chrono::minutes(1);

rig_options options() {
  rig_options o;
  o.batch_events = 16;
  o.batches = 16; // a thread that is held up keeps its batch: none must be lacking for that
  o.parked = 256;
  o.event_time_limit = o.spill_time_limit = long_time;
  return o;
}

/// The datagrams of the thread's share of each event, those of neighbouring events mixed.
datagrams share_of(const rig& r, std::uint32_t spill, std::uint32_t thread) {
  constexpr std::size_t window = 40;
  datagrams mine;
  for (std::uint32_t n = 1; n <= events; ++n) {
    const auto all = r.event({spill, n});
    for (std::size_t i = thread; i < all.size(); i += threads) mine.push_back(all[i]);
  }
  std::mt19937 random(thread);
  for (std::size_t at = 0; at + window <= mine.size(); at += window)
    std::shuffle(mine.begin() + static_cast<std::ptrdiff_t>(at),
                 mine.begin() + static_cast<std::ptrdiff_t>(at + window), random);
  return mine;
}

/// None sends the next part before all have sent the one before the last: as a sender's pace does.
class pace {
public:
  void wait(std::uint32_t thread, std::uint32_t part) {
    parts_[thread] = part;
    while (std::ranges::any_of(parts_, [&](const auto& p) { return p + 1 < part; }))
      std::this_thread::yield();
  }
  void leave(std::uint32_t thread) { parts_[thread] = ~0U - 1; }

private:
  std::atomic<std::uint32_t> parts_[threads] = {};
};

void feed(rig& r, const datagrams& all, pace& together, std::uint32_t thread) {
  constexpr std::size_t part_size = 16;
  input_counters input;
  landing_ring ring(r.builder, r.options.ring, input);
  std::uint32_t part = 0;
  for (std::size_t at = 0; at < all.size(); ++part) {
    together.wait(thread, part);
    r.builder.enter(ring, steady_clock::now());
    at += rig::put(r.builder, all, at, part_size, ring);
    r.builder.end_round(ring, steady_clock::now());
    r.builder.leave(ring, steady_clock::now());
  }
  together.leave(thread);
  EXPECT_EQ(input.refused.sum(), 0U);
}

void feed_from_threads(rig& r, std::uint32_t spill) {
  std::vector<datagrams> shares;
  for (std::uint32_t t = 0; t < threads; ++t) shares.push_back(share_of(r, spill, t));
  pace together;
  {
    std::vector<std::jthread> all;
    for (std::uint32_t t = 0; t < threads; ++t)
      all.emplace_back([&, t] { feed(r, shares[t], together, t); });
  }
  // A thread was held up for so long that a chunk still waits for its siblings.
  r.builder.tick(steady_clock::now() + spill_resolver::patience);
}

void send_record(rig& r, stream_landing& stream, event_key key) {
  const auto body = event_record_body(key, r.options.crates);
  while (!r.builder.reserve(stream, body.size(), steady_clock::now())) std::this_thread::yield();
  std::memcpy(r.builder.enter(stream), body.data(), body.size());
  r.builder.leave(stream, body.size());
  using outcome = event_builder::stream_outcome;
  for (;;) {
    const auto result = r.builder.take_event(stream, key.spill, steady_clock::now());
    ASSERT_NE(result.outcome, outcome::refused);
    if (result.outcome == outcome::counted) return;
    std::this_thread::yield();
  }
}

void expect_all(const rig& r, std::uint32_t spills) {
  r.expect_balance();
  r.expect_bytes();
  EXPECT_EQ(r.pool.received.size(), std::size_t{spills} * events) << r.counted();
  EXPECT_EQ(r.counters.events_incomplete, 0U);
  EXPECT_EQ(r.outcomes.events_shed.sum(), 0U);
}

TEST(event_builder_threads, events_whose_datagrams_come_through_four_rings_are_whole) {
  rig r(options());
  for (const std::uint32_t spill : {1U, 2U, 3U}) feed_from_threads(r, spill);
  r.now = steady_clock::now();
  r.drain();
  expect_all(r, 3);
  EXPECT_EQ(r.counters.fragments_duplicate, 0U);
  EXPECT_EQ(r.summaries.size(), 3U);
}

TEST(event_builder_threads, events_that_come_as_records_too_are_stored_once) {
  rig r(options());
  {
    std::jthread records([&] {
      stream_landing stream(max_event_body(r.options.crates));
      r.builder.attach(stream);
      for (std::uint32_t n = 1; n <= events; ++n) send_record(r, stream, {1, n});
      r.builder.detach(stream);
    });
    std::jthread clock([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) r.builder.tick(steady_clock::now());
    });
    feed_from_threads(r, 1);
    records.join();
  }
  r.now = steady_clock::now();
  r.drain();
  expect_all(r, 1);
  EXPECT_EQ(r.counters.fragments_duplicate.get() + r.counters.fragments_admitted.get(),
            r.counters.fragments_seen.get());
  EXPECT_GE(r.counters.fragments_duplicate, std::uint64_t{events} * r.options.crates.size());
}

} // namespace
} // namespace l3::test
