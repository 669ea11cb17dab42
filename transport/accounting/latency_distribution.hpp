// SPDX-License-Identifier: Apache-2.0
// The distribution of latencies in a fixed amount of memory: 32 equal buckets per octave from 1 µs
// to 137 s, so that quantiles are accurate to about 3 %. One thread adds; any thread reads the
// current buckets.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "transport/accounting/counters.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class latency_distribution {
public:
  /// Times below 1.024 µs or above 137 s count in the first or last bucket.
  void add(std::chrono::nanoseconds time, std::uint64_t times = 1) {
    const std::uint64_t whole = whole_nanoseconds(std::max(time, std::chrono::nanoseconds(0)));
    buckets_[bucket_of(whole)].add(times);
    sum_.add(whole * times);
    count_.add(times);
  }

  void add(const latency_distribution& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i].add(other.buckets_[i]);
    sum_.add(other.sum_);
    count_.add(other.count_);
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::chrono::nanoseconds sum() const { return time_of(sum_); }

  /// The time that a fraction q of all entries does not exceed (the middle of its bucket). 0
  /// without entries.
  [[nodiscard]] std::chrono::nanoseconds quantile(double q) const {
    std::uint64_t all = 0;
    for (const auto& b : buckets_) all += b;
    if (all == 0) return {};
    const auto wanted =
        std::clamp(static_cast<std::uint64_t>(std::llround(q * static_cast<double>(all))),
                   std::uint64_t{1}, all);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= wanted) return middle_of(i);
    }
    return middle_of(buckets_.size() - 1); // entries came between the two passes
  }

  /// Entries in buckets that end at or below this time, for a cumulative distribution.
  [[nodiscard]] std::uint64_t count_up_to(std::chrono::nanoseconds time) const {
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size() && time_of(start_of(i + 1)) <= time; ++i)
      seen += buckets_[i];
    return seen;
  }

private:
  static constexpr int first_octave = 10; // 1.024 µs
  static constexpr int octaves = 27;      // up to 2^37 ns, 137 s
  static constexpr int fraction_bits = 5;
  static constexpr std::uint64_t per_octave = 1U << fraction_bits;

  static std::size_t bucket_of(std::uint64_t v) {
    v = std::clamp(v, std::uint64_t{1} << first_octave,
                   (std::uint64_t{1} << (first_octave + octaves)) - 1);
    const int octave = std::bit_width(v) - 1;
    const std::uint64_t fraction = (v >> (octave - fraction_bits)) & (per_octave - 1);
    return static_cast<std::size_t>(octave - first_octave) * per_octave + fraction;
  }
  static std::uint64_t start_of(std::size_t bucket) {
    const std::size_t octave = bucket / per_octave + first_octave;
    return (per_octave + bucket % per_octave) << (octave - fraction_bits);
  }
  static std::chrono::nanoseconds middle_of(std::size_t bucket) {
    return time_of((start_of(bucket) + start_of(bucket + 1)) / 2);
  }
  static std::chrono::nanoseconds time_of(std::uint64_t whole) {
    return std::chrono::nanoseconds(whole);
  }

  std::array<counter, octaves * per_octave> buckets_;
  counter sum_;
  counter count_;
};

} // namespace l3
