// SPDX-License-Identifier: Apache-2.0
// The claims of a bench about UDP. Losing events at some rate is a finding, not a failure: to find
// where loss begins is what the bench is for. It fails when it contradicts itself or what it was
// told to prove: when events are lost below a rate at which none was, or up to the rate that must
// be sustained.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace l3 {

struct udp_trial {
  double rate = 0; ///< that the sender reached, bytes per second
  std::uint64_t lost = 0;
};

/// The highest rate at which nothing was lost; 0: there was none.
[[nodiscard]] inline double sustained(std::span<const udp_trial> trials) {
  double best = 0;
  for (const auto& t : trials) {
    if (t.lost == 0) best = std::max(best, t.rate);
  }
  return best;
}

/// The trials that lost events where none may be lost.
[[nodiscard]] inline std::vector<udp_trial> broken_claims(std::span<const udp_trial> trials,
                                                          double must_sustain) {
  const double claim = std::max(must_sustain, sustained(trials));
  std::vector<udp_trial> broken;
  std::ranges::copy_if(trials, std::back_inserter(broken),
                       [&](const udp_trial& t) { return t.lost != 0 && t.rate <= claim; });
  return broken;
}

} // namespace l3
