// SPDX-License-Identifier: Apache-2.0
// Histograms as JSON: the response of /histograms, the files of `koto-l3 histograms`, and the form
// of a reference run (docs/formats.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/histograms/histogram_set.hpp"

namespace l3 {

/// A sum of an input and its name in documents.
struct sum_column {
  const char* name;
  std::uint64_t channel_sums::*of;
};

/// All but `time`, which has a sign.
inline constexpr std::array sum_columns{
    sum_column{"waveforms", &channel_sums::waveforms},
    sum_column{"lit", &channel_sums::lit},
    sum_column{"timed", &channel_sums::timed},
    sum_column{"quiet", &channel_sums::quiet},
    sum_column{"pedestal", &channel_sums::pedestal},
    sum_column{"pedestal_squares", &channel_sums::pedestal_squares},
    sum_column{"noise_log", &channel_sums::noise_log},
    sum_column{"noise_log_squares", &channel_sums::noise_log_squares}};

/// A histogram as read from a document, with its own binning.
struct named_histogram {
  std::string name;
  std::string unit;
  double low = 0;
  double width = 1;
  std::vector<std::uint64_t> counts; ///< below, the bins, above
  std::string place;                 ///< "line:column" of its name, if it was read

  [[nodiscard]] std::size_t bins() const { return counts.size() - 2; }
};

/// The contents of a document, whose binning may be that of another version.
struct shown_histograms {
  std::uint32_t run = 0;
  std::optional<std::uint32_t> node; ///< nothing: several nodes
  std::optional<std::uint32_t> spill;
  std::string settings;
  std::uint32_t one_in = 1;
  std::uint64_t events = 0;
  std::uint64_t sampled = 0;
  std::uint64_t left_out = 0;
  std::vector<std::string> inputs; ///< by number; "" where there is no input
  std::vector<channel_sums> channels;
  std::vector<named_histogram> histograms; ///< of events
  std::vector<named_histogram> counters;   ///< times of hits, by counter
};

[[nodiscard]] shown_histograms show(const histogram_set& set, const histogram_names& names);

[[nodiscard]] std::string to_json(const shown_histograms& h);

/// Reads a document, or the run of one with several parts (/histograms). Throws std::runtime_error
/// with a text that says what is wrong, without the file's name.
[[nodiscard]] shown_histograms read_histograms(std::string_view text);

/// Reads a file. Errors have its name.
[[nodiscard]] shown_histograms read_histogram_file(const std::string& file);

/// The error that read_histogram_file() would throw; empty if the file is valid.
[[nodiscard]] std::string wrong_with_histogram_file(const std::string& file);

// Adds histograms read from documents: of the spills of a run, or of the nodes of a farm.

/// Adds `more` to `to`. Returns why the two cannot be added, or an empty string.
[[nodiscard]] std::string add(shown_histograms& to, const shown_histograms& more);

} // namespace l3
