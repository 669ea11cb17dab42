// SPDX-License-Identifier: Apache-2.0
// The efficiency of each line from stored data. A line that keeps events independent of their
// content (pass_through) gives an unbiased sample of all events, and minimum bias a sample of the
// events that level 1 accepted without conditions. If the selection records, all events are a
// sample. The efficiency of another line is the fraction of such a sample on which it fires. Counts
// only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/evaluate/evaluation.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {

/// The sample of a recording run.
inline constexpr std::string_view all_events = "all events";

struct line_efficiency {
  std::string name;
  std::uint32_t prescale = 1;
  proportion of_all; ///< fired, of all events of the sample
  proportion
      of_triggered; ///< of events with the line's level-1 bits; empty if reasons are not stored
  std::array<std::uint64_t, 256> refused{}; ///< by line_reason
};

/// One reference sample.
struct reference_sample {
  std::string name;
  std::uint64_t one_in = 1; ///< it has one in this many events
  std::uint64_t events = 0;
  std::vector<line_efficiency> lines;
};

/// Efficiencies of events with the same settings.
class settings_efficiency {
public:
  /// `lines`: names of the settings' lines; a line without a name is shown by its id.
  settings_efficiency(const std::map<std::uint32_t, std::string>& lines, bool records,
                      std::vector<std::string> references)
      : names_(lines), records_(records), references_(std::move(references)) {}

  /// `bytes`: packed length of the event.
  void add(const summary_view& event, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Bytes of all events that a line kept; an event kept by several lines counts for each.
  [[nodiscard]] std::uint64_t link_bytes(std::size_t line) const { return link_bytes_[line]; }
  [[nodiscard]] const std::vector<reference_sample>& samples() const { return samples_; }

private:
  void begin(const summary_view& event);
  void add(const summary_view& event, reference_sample& to) const;

  std::map<std::uint32_t, std::string> names_; ///< by id
  bool records_;
  std::vector<std::string> references_;
  std::uint64_t events_ = 0;
  std::vector<std::uint64_t> link_bytes_; ///< by line
  std::vector<reference_sample> samples_; ///< in the order of `references_`, then all events
  std::vector<std::size_t> bits_;         ///< bits of the samples' lines
};

} // namespace l3
