// SPDX-License-Identifier: Apache-2.0
// Counts by crate, in the order of the readout's list; the total is the sum over the crates. The
// counts of one kind are adjacent, so that an event, with a fragment of each crate, touches few
// cache lines. One writer at a time, as for a counter; any thread reads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "transport/accounting/counter.hpp"
#include "transport/format/event_key.hpp"

namespace l3 {

inline constexpr std::size_t most_crates = 64; ///< one bit each in a word

class crate_counts {
public:
  void add(std::size_t crate, std::uint64_t n = 1) { counters_[crate].add(n); }
  [[nodiscard]] std::uint64_t operator[](std::size_t crate) const { return counters_[crate]; }
  /// Sum over all crates.
  [[nodiscard]] std::uint64_t get() const {
    return std::accumulate(counters_.begin(), counters_.end(), std::uint64_t{0},
                           [](std::uint64_t s, const counter& c) { return s + c.get(); });
  }
  operator std::uint64_t() const { return get(); } // NOLINT: reads like the number it is

private:
  std::array<counter, most_crates> counters_;
};

template <class Reason>
class crate_reasons {
public:
  void add(std::size_t crate, Reason r, std::uint64_t n = 1) { crates_[crate].add(r, n); }
  [[nodiscard]] const reason_counters<Reason>& of(std::size_t crate) const {
    return crates_[crate];
  }
  /// Sum over all crates.
  [[nodiscard]] std::uint64_t operator[](Reason r) const {
    std::uint64_t n = 0;
    for (const auto& c : crates_) n += c[r];
    return n;
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t n = 0;
    for (const auto& c : crates_) n += c.sum();
    return n;
  }

private:
  std::array<reason_counters<Reason>, most_crates> crates_;
};

/// The latest value of each crate. Values of different crates need not be of the same time.
template <class Value>
class crate_latest {
public:
  crate_latest() = default;
  crate_latest(const crate_latest& other) { *this = other; }
  crate_latest& operator=(const crate_latest& other) {
    for (std::size_t c = 0; c < most_crates; ++c) set(c, other[c]);
    return *this;
  }
  ~crate_latest() = default;

  void set(std::size_t crate, Value v) { values_[crate].store(v, std::memory_order_relaxed); }
  [[nodiscard]] Value operator[](std::size_t crate) const {
    return values_[crate].load(std::memory_order_relaxed);
  }

private:
  std::array<std::atomic<Value>, most_crates> values_{};
};

} // namespace l3
