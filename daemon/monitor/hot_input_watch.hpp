// SPDX-License-Identifier: Apache-2.0
// Follows which inputs are hot, spill by spill, by the rule of transport/histograms/comparison.hpp.
// A spill with too few waveforms of an input does not change that input's state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "transport/histograms/comparison.hpp"
#include "transport/histograms/histogram_set.hpp"

namespace l3 {

class hot_input_watch {
public:
  /// `counters`: see heat_of().
  hot_input_watch(std::vector<std::optional<std::uint32_t>> counters, const hot_rule& rule)
      : counters_(std::move(counters)), rule_(rule), hot_(counters_.size()) {}

  /// Call it from the drain thread when a spill, or a part of it, has ended.
  void note(const histogram_sums& of_spill) {
    const auto heat = heat_of(of_spill.channels, counters_, rule_);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < heat.size(); ++i)
      if (heat[i] != input_heat::unknown) hot_[i] = heat[i] == input_heat::hot;
  }

  /// The numbers of the hot inputs, sorted. Any thread.
  [[nodiscard]] std::vector<std::uint32_t> now_hot() const {
    std::vector<std::uint32_t> found;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < hot_.size(); ++i)
      if (hot_[i]) found.push_back(static_cast<std::uint32_t>(i));
    return found;
  }

private:
  std::vector<std::optional<std::uint32_t>> counters_;
  hot_rule rule_;

  mutable std::mutex mutex_;
  std::vector<bool> hot_; ///< by input
};

} // namespace l3
