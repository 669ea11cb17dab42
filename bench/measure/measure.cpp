// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/measure.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>

namespace l3::bench {
namespace {

double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  constexpr double nano = 1e-9;
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * nano;
}

double time_of(const entrant& e, std::uint32_t passes) {
  const double begin = thread_seconds();
  for (std::uint32_t i = 0; i < passes; ++i) e.run();
  return (thread_seconds() - begin) / passes;
}

} // namespace

timing summary(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](std::size_t quarter) { return seconds[(seconds.size() - 1) * quarter / 4]; };
  return {at(2), at(1), at(3), true};
}

std::vector<timing> measure(std::span<const entrant> entrants, effort e) {
  std::vector<std::vector<double>> seconds(entrants.size());
  std::vector<bool> right(entrants.size(), true);
  for (std::uint32_t round = 0; round < e.rounds; ++round) {
    if (!e.warm) {
      for (const entrant& x : entrants) x.poison();
    }
    for (std::size_t i = 0; i < entrants.size(); ++i) {
      const entrant& x = entrants[i];
      if (e.warm) {
        x.run();
        x.poison();
      }
      seconds[i].push_back(time_of(x, e.passes));
      right[i] = right[i] && x.is_right();
    }
  }
  std::vector<timing> all;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    all.push_back(summary(std::move(seconds[i])));
    all.back().right = right[i];
  }
  return all;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

} // namespace l3::bench
