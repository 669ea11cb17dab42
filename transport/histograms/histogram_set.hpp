// SPDX-License-Identifier: Apache-2.0
// Histograms on the host: the sums of a spill or of a run, and their description. Sets that count
// the same inputs may be added in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/format/histograms.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

struct histogram_sums {
  std::vector<channel_sums> channels; ///< by input
  std::vector<std::uint64_t> counts;  ///< the event_counts

  histogram_sums() = default;
  explicit histogram_sums(std::size_t inputs) : channels(inputs), counts(event_counts) {}

  template <class Count>
  void add(std::span<const channel_sums> more, std::span<const Count> more_counts) {
    for (std::size_t i = 0; i < channels.size() && i < more.size(); ++i) channels[i] += more[i];
    for (std::size_t i = 0; i < counts.size() && i < more_counts.size(); ++i)
      counts[i] += more_counts[i];
  }
  void add(const histogram_sums& o) {
    add(std::span<const channel_sums>(o.channels), std::span<const std::uint64_t>(o.counts));
  }
  void clear() {
    channels.assign(channels.size(), {});
    counts.assign(counts.size(), 0);
  }
  [[nodiscard]] std::uint64_t events() const {
    return counts.empty() ? 0 : counts[count_of_events];
  }

  friend bool operator==(const histogram_sums&, const histogram_sums&) = default;
};

/// Names of the inputs and the counters.
struct histogram_names {
  std::vector<std::string> inputs; ///< by number, "crate/slot/channel"; empty: no input
  std::vector<std::string> counters;

  friend bool operator==(const histogram_names&, const histogram_names&) = default;
};

/// The addresses of a readout's inputs.
[[nodiscard]] std::vector<std::string> input_addresses(const readout& crates);

/// Sums and their description.
struct histogram_set {
  std::uint32_t run = 0;
  std::uint32_t node = 0;
  std::optional<std::uint32_t> spill; ///< nothing: a whole run, or several spills
  std::uint32_t settings = 0;         ///< hash of the selection's settings (docs/formats.md)
  std::uint32_t one_in = 1;           ///< one event in this many is sampled
  std::uint64_t left_out = 0;         ///< events without room (max_frame_spills)
  histogram_sums sums;
};

// Results of a channel's sums; nothing if there are too few entries.
[[nodiscard]] std::optional<double> pedestal_of(const channel_sums& c);  ///< counts
[[nodiscard]] std::optional<double> noise_of(const channel_sums& c);     ///< counts, rms
[[nodiscard]] std::optional<double> occupancy_of(const channel_sums& c); ///< 0 … 1
[[nodiscard]] std::optional<double> mean_time_of(const channel_sums& c); ///< ns

/// The mean log2 of the variance of quiet waveforms and its squared error, both in octaves. The
/// error comes from the scatter of the waveforms, and is not less than that of white noise.
struct mean_noise_log {
  double value = 0;
  double error_square = 0;
};
[[nodiscard]] std::optional<mean_noise_log> mean_noise_log_of(const channel_sums& c);

} // namespace l3
