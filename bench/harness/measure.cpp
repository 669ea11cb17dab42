// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/measure.hpp"

#include <algorithm>

#include "bench/counts/device_counts.hpp"

namespace l3::bench {
namespace {

double time_of(const entrant& x, const effort& e) {
  const clockid_t clock = e.by == timer::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  const double begin = seconds(clock);
  for (std::uint32_t i = 0; i < e.passes; ++i) x.run();
  x.finish();
  return (seconds(clock) - begin) / e.passes;
}

/// Since the last call.
std::uint64_t take_warp_instructions() {
  std::uint64_t n = 0;
  if (take_device_counts != nullptr)
    for (const device_count& c : take_device_counts()) n += c.warp_instructions;
  return n;
}

} // namespace

double seconds(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  constexpr double nano = 1e-9;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * nano;
}

timing summary(std::vector<double> seconds) {
  timing t;
  t.seconds = seconds;
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](std::size_t quarter) { return seconds[(seconds.size() - 1) * quarter / 4]; };
  t.median = at(2);
  t.low = at(1);
  t.high = at(3);
  return t;
}

std::vector<timing> measure(std::span<const entrant> entrants, effort e) {
  std::vector<std::vector<double>> seconds(entrants.size());
  std::vector<bool> right(entrants.size(), true);
  std::vector<std::uint64_t> counted(entrants.size());
  if (take_device_counts != nullptr) e.passes = 1; // the simulated device's times mean nothing
  const std::uint32_t warming_rounds = e.from == start::in_turn ? 1 : 0;
  for (std::uint32_t round = 0; round < warming_rounds + e.rounds; ++round) {
    if (e.from == start::cold) {
      for (const entrant& x : entrants) x.poison();
    }
    for (std::size_t i = 0; i < entrants.size(); ++i) {
      const entrant& x = entrants[i];
      if (e.from == start::hot) {
        x.run();
        x.finish();
      }
      if (e.from != start::cold) x.poison();
      static_cast<void>(take_warp_instructions());
      const double took = time_of(x, e);
      counted[i] = take_warp_instructions() / e.passes;
      if (round >= warming_rounds) seconds[i].push_back(took);
      right[i] = right[i] && x.is_right();
    }
  }
  std::vector<timing> all;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    all.push_back(summary(std::move(seconds[i])));
    all.back().right = right[i];
    all.back().warp_instructions = counted[i];
  }
  return all;
}

} // namespace l3::bench
