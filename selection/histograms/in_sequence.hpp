// SPDX-License-Identifier: Apache-2.0
// The algorithms of the histograms and their places in a sequence: each comes as early as possible,
// after the last algorithm that writes its input, so that no slot lives longer than needed. An
// algorithm without input in the sequence is left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "selection/algorithms/registry.hpp"
#include "selection/histograms/histogram_channels.hpp"
#include "selection/histograms/histogram_events.hpp"
#include "selection/histograms/histogram_vetoes.hpp"
#include "selection/sequence/plan.hpp"

namespace l3 {

template <class List, algorithm... More>
struct longer_list;
template <algorithm... A, algorithm... More>
struct longer_list<algorithm_list<A...>, More...> {
  using type = algorithm_list<A..., More...>;
};

using histogram_algorithms = algorithm_list<histogram_channels, histogram_vetoes, histogram_events>;
/// The algorithms for sequences, then those of the histograms.
using all_algorithms =
    longer_list<algorithms, histogram_channels, histogram_vetoes, histogram_events>::type;

/// The sequence with the algorithms of the histograms.
[[nodiscard]] inline std::vector<std::string> with_histograms(std::vector<std::string> sequence) {
  const std::vector<algorithm_info> registry = algorithms::infos();
  const auto writes = [&](const std::string& step, std::string_view slot) {
    const auto known = std::ranges::find(registry, std::string_view(step), &algorithm_info::name);
    return known != registry.end() &&
           std::ranges::find(known->writes, slot, &slot_info::name) != known->writes.end();
  };
  for (const algorithm_info& made : histogram_algorithms::infos()) {
    std::size_t behind = 0;
    bool all_written = true;
    for (const slot_info& read : made.reads) {
      const auto writer = std::ranges::find_if(
          sequence, [&](const std::string& step) { return writes(step, read.name); });
      all_written = all_written && writer != sequence.end();
      behind = std::max(behind, static_cast<std::size_t>(writer - sequence.begin()) + 1);
    }
    if (all_written)
      sequence.insert(sequence.begin() + static_cast<std::ptrdiff_t>(behind),
                      std::string(made.name));
  }
  return sequence;
}

} // namespace l3
