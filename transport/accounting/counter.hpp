// SPDX-License-Identifier: Apache-2.0
// A counter, and a list of counters by reason. One thread writes a counter, any thread reads it; no
// counter is ever reset.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "transport/accounting/enumerator_names.hpp"

namespace l3 {

/// Counts up. add() is for one writer at a time (one thread, or the holder of the lock that guards
/// the counter), so it needs no locked instruction. A reader of a count also sees everything the
/// writer did before it. A copy keeps the count at the time of copying.
class counter {
public:
  counter(std::uint64_t n = 0) : value_(n) {} // NOLINT: a count of that size
  counter(const counter& other) : value_(other.get()) {}
  counter& operator=(const counter& other) {
    value_.store(other.get(), std::memory_order_relaxed);
    return *this;
  }
  ~counter() = default;

  void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_acquire); }
  operator std::uint64_t() const { return get(); } // NOLINT: reads like the number it is

private:
  std::atomic<std::uint64_t> value_;
};

template <class Reason>
class reason_counters {
public:
  void add(Reason r, std::uint64_t n = 1) { counters_[static_cast<std::size_t>(r)].add(n); }
  [[nodiscard]] std::uint64_t operator[](Reason r) const {
    return counters_[static_cast<std::size_t>(r)];
  }
  [[nodiscard]] std::uint64_t sum() const {
    return std::accumulate(counters_.begin(), counters_.end(), std::uint64_t{0},
                           [](std::uint64_t s, const counter& c) { return s + c.get(); });
  }

private:
  std::array<counter, enumerators<Reason>> counters_;
};

} // namespace l3
