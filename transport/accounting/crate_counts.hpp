// SPDX-License-Identifier: Apache-2.0
// Counts by crate, in the order of the readout's list; the whole is the sum of its crates. The
// counts of one kind lie side by side, so that an event, which has a fragment of each crate,
// touches few cache lines. One writer at a time, as for a counter; any thread reads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "transport/accounting/counter.hpp"
#include "transport/format/event_key.hpp"

namespace l3 {

inline constexpr std::size_t most_crates = 64; ///< a bit each in a word

class crate_counts {
public:
  void add(std::size_t crate, std::uint64_t n = 1) { counters_[crate].add(n); }
  [[nodiscard]] std::uint64_t operator[](std::size_t crate) const { return counters_[crate]; }
  /// Of all crates.
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
  /// Of all crates.
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

/// By crate the latest of what changes with each event. No reader may conclude from one crate's on
/// another's.
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
