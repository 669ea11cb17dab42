// SPDX-License-Identifier: Apache-2.0
// Follows which inputs are hot, spill by spill: transport/histograms/hot_inputs.hpp has the rule. A
// spill with too few waveforms of an input says nothing of it, and what was known before stays. To
// be hot once is told; to be masked in the next run an input must be hot in several spills on end,
// so that one odd spill takes no input out of the selection. A spill whose events pause may come in
// several parts: these are still one spill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "transport/histograms/histogram_set.hpp"
#include "transport/histograms/hot_inputs.hpp"

namespace l3 {

class hot_input_watch {
public:
  /// An input is masked that was hot in so many spills, the last ones that say something of it.
  static constexpr std::uint32_t spills_until_masked = 2;

  /// `counters`: as heat_of() has them.
  hot_input_watch(std::vector<std::optional<std::uint32_t>> counters, const hot_rule& rule)
      : counters_(std::move(counters)), rule_(rule), hot_spills_(counters_.size(), 0),
        hot_in_(counters_.size(), 0) {}

  /// A spill has ended, or a part of it. The drain thread.
  void note(std::uint32_t spill, const histogram_sums& of_spill) {
    const auto heat = heat_of(of_spill.channels, counters_, rule_);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < heat.size(); ++i) {
      if (heat[i] == input_heat::normal) hot_spills_[i] = 0;
      if (heat[i] == input_heat::hot && (hot_spills_[i] == 0 || hot_in_[i] != spill)) {
        hot_spills_[i] += 1;
        hot_in_[i] = spill;
      }
    }
  }

  /// By number, in order: the inputs that were hot in this many spills on end. Any thread.
  [[nodiscard]] std::vector<std::uint32_t> hot_for(std::uint32_t spills) const {
    std::vector<std::uint32_t> found;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < hot_spills_.size(); ++i)
      if (hot_spills_[i] >= spills) found.push_back(static_cast<std::uint32_t>(i));
    return found;
  }

private:
  std::vector<std::optional<std::uint32_t>> counters_;
  hot_rule rule_;

  mutable std::mutex mutex_;
  std::vector<std::uint32_t> hot_spills_; ///< on end, up to the latest one; by input
  std::vector<std::uint32_t> hot_in_;     ///< the latest spill of these
};

} // namespace l3
