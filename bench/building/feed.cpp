// SPDX-License-Identifier: Apache-2.0
#include "bench/building/feed.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "bench/harness/measure.hpp"
#include "transport/building/event_builder.hpp"

namespace l3::bench {
namespace {

constexpr std::uint32_t ring_entries = 128; // as in udp_thread
constexpr auto tick_period = std::chrono::milliseconds(2);

/// Most datagrams that a thread reads before it leaves the builder and enters again, and most
/// rounds over its ports.
constexpr std::uint32_t datagrams_per_sweep = 1024;
constexpr std::uint32_t most_rounds_per_sweep = 16;

/// No time limit may matter in a run, because its duration depends on the machine.
constexpr auto long_time = std::chrono::hours(1);

struct call_time {
  double wall = 0;
  double cpu = 0;
};

/// Measures the calls of one thread.
class stopwatch {
public:
  explicit stopwatch(std::size_t calls) {
    calls_.reserve(calls);
    constexpr int tries = 1000;
    for (int i = 0; i < tries; ++i) time([] {});
    call_time sum;
    for (const call_time& c : calls_) {
      sum.wall += c.wall;
      sum.cpu += c.cpu;
    }
    of_nothing_ = {sum.wall / tries, sum.cpu / tries};
    calls_.clear();
  }

  void time(auto&& call) {
    const double cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    const double wall = seconds(CLOCK_MONOTONIC);
    call();
    const double wall_after = seconds(CLOCK_MONOTONIC);
    const double cpu_after = seconds(CLOCK_THREAD_CPUTIME_ID);
    calls_.push_back({wall_after - wall - of_nothing_.wall, cpu_after - cpu - of_nothing_.cpu});
  }

  [[nodiscard]] const std::vector<call_time>& calls() const { return calls_; }

private:
  call_time of_nothing_; ///< the clocks alone
  std::vector<call_time> calls_;
};

/// Keeps the threads together, as a sender's pace does: no thread begins a sweep before all have
/// ended the one before the last.
class pace {
public:
  explicit pace(std::uint32_t threads) : sweeps_(threads) {}

  void wait_to_begin(std::uint32_t sweep) const {
    for (const auto& others : sweeps_) {
      while (others + 1 < sweep) std::this_thread::yield();
    }
  }
  void ended(std::uint32_t thread) { ++sweeps_[thread]; }
  void leaves(std::uint32_t thread) {
    sweeps_[thread] = std::numeric_limits<std::uint32_t>::max() - 1;
  }

private:
  std::vector<std::atomic<std::uint32_t>> sweeps_;
};

/// A receive thread without sockets; its ports are lists.
class feeder {
public:
  feeder(event_builder& builder, const feed_plan& plan, const traffic& t, std::uint32_t thread)
      : builder_(builder), plan_(plan), thread_(thread), ring_(builder, ring_entries, input_) {
    for (std::size_t p = thread; p < t.ports.size(); p += plan.threads)
      ports_.emplace_back(t.ports[p]);
    rounds_per_sweep_ = std::clamp<std::uint32_t>(
        datagrams_per_sweep /
            (plan.datagrams_per_call * static_cast<std::uint32_t>(t.ports.size())),
        1, most_rounds_per_sweep);
    landed_.reserve(ring_entries);
  }

  void run(pace& together) {
    for (std::uint32_t sweep = 0; is_left(); ++sweep) {
      together.wait_to_begin(sweep);
      this->sweep();
      together.ended(thread_);
    }
    together.leaves(thread_);
  }

  [[nodiscard]] const stopwatch& calls() const { return calls_; }

private:
  using port = std::span<const sent_datagram>; ///< what it has left

  [[nodiscard]] bool is_left() const {
    return std::ranges::any_of(ports_, [](const port& p) { return !p.empty(); });
  }

  void sweep() {
    time_point now = steady_clock::now();
    calls_.time([&] { builder_.enter(ring_, now); });
    for (std::uint32_t round = 0; round < rounds_per_sweep_ && is_left(); ++round) {
      for (port& p : ports_) receive(p);
      now = steady_clock::now();
      calls_.time([&] { builder_.end_round(ring_, now); });
    }
    calls_.time([&] { builder_.leave(ring_, now); });
    if (thread_ != 0 || now - ticked_at_ < tick_period) return;
    ticked_at_ = now;
    calls_.time([&] { builder_.tick(now); });
  }

  void receive(port& p) {
    if (ring_.is_half_full()) {
      const auto now = steady_clock::now();
      calls_.time([&] { builder_.take(ring_, now); });
    }
    const std::size_t n = std::min<std::size_t>({plan_.datagrams_per_call, ring_.free(), p.size()});
    if (n == 0) return;
    landed_.clear();
    for (std::size_t m = 0; m < n; ++m) {
      const sent_datagram& d = p[m];
      if (d.bytes != 0) std::memcpy(ring_.free_entry(m).slot.memory, d.payload, d.bytes);
      landed_.push_back({d.header, d.bytes});
    }
    p = p.subspan(n);
    calls_.time([&] { builder_.land(ring_, landed_); });
  }

  event_builder& builder_;
  const feed_plan& plan_;
  std::uint32_t thread_;
  std::uint32_t rounds_per_sweep_ = 1;
  std::vector<port> ports_;
  input_counters input_;
  landing_ring ring_;
  std::vector<datagram> landed_;
  time_point ticked_at_ = steady_clock::now();
  stopwatch calls_{std::size_t{1} << 16};
};

feed_result summary(const std::vector<std::unique_ptr<feeder>>& feeders) {
  feed_result r;
  std::vector<double> walls;
  for (const auto& f : feeders) {
    double mine = 0;
    for (const call_time& c : f->calls().calls()) {
      mine += c.wall;
      r.cpu_of_calls += c.cpu;
      r.longest_cpu = std::max(r.longest_cpu, c.cpu);
      walls.push_back(c.wall);
    }
    r.wall_of_calls = std::max(r.wall_of_calls, mine);
  }
  std::ranges::sort(walls);
  constexpr std::size_t parts = 10'000;
  r.almost_longest = walls[(walls.size() - 1) * (parts - 1) / parts];
  return r;
}

} // namespace

feed_result feed(const traffic& t, const feed_plan& plan, reused_batches& batches,
                 const made_up_events* sent) {
  building_settings settings;
  settings.chunk_bytes = piece_bytes;
  settings.event_time_limit = settings.spill_time_limit = long_time;
  building_counters counters;
  outcome_counters outcomes;
  batches.begin(sent);
  event_builder builder(settings, batches.capacity(), long_time, batches, counters, outcomes,
                        [](const spill_summary&) {});
  std::vector<std::unique_ptr<feeder>> feeders;
  for (std::uint32_t i = 0; i < plan.threads; ++i)
    feeders.push_back(std::make_unique<feeder>(builder, plan, t, i));
  pace together(plan.threads);
  {
    std::vector<std::jthread> threads;
    threads.reserve(feeders.size());
    for (auto& f : feeders) threads.emplace_back([&] { f->run(together); });
  }
  builder.drain(steady_clock::now());

  feed_result r = summary(feeders);
  r.events = batches.events();
  r.parked = counters.parked;
  r.parked_bytes = counters.parked_bytes;
  r.right = r.events == t.whole_events && counters.events_admitted == t.whole_events &&
            batches.all_as_sent();
  return r;
}

double bare_pass(const traffic& t, const reused_batches& batches) {
  const double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
  std::size_t batch = 0;
  std::size_t at = 0;
  std::vector<std::size_t> next(t.ports.size());
  for (bool left = true; left;) {
    left = false;
    for (std::size_t p = 0; p < t.ports.size(); ++p) {
      if (next[p] == t.ports[p].size()) continue;
      left = true;
      const sent_datagram& d = t.ports[p][next[p]++];
      if (d.bytes == 0) continue;
      if (at + piece_bytes > batches.memory(batch).size()) {
        batch = (batch + 1) % batches.size();
        at = 0;
      }
      std::memcpy(batches.memory(batch).data() + at, d.payload, d.bytes);
      at += piece_bytes;
    }
  }
  return seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
}

} // namespace l3::bench
