// SPDX-License-Identifier: Apache-2.0
// The efficiency of each line from stored data itself. A line that keeps events whatever they are
// (pass_through) gives a sample of all events without a bias, and minimum bias one of those that
// level 1 took by themselves; where the selection records, all events are one. What part of such a
// sample another line fires on is its efficiency. Counts only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/evaluate/evaluation.hpp"
#include "transport/store/summary_view.hpp"

namespace l3 {

/// The sample of a run that records.
inline constexpr std::string_view all_events = "all events";

struct line_efficiency {
  std::string name;
  std::uint32_t prescale = 1;
  proportion of_all; ///< fired, of all events of the sample
  proportion
      of_triggered; ///< of those with the line's level-1 bits; none if reasons are not stored
  std::array<std::uint64_t, 256> refused{}; ///< by line_reason
};

/// Of one sample, by bit.
struct reference_sample {
  std::string name;
  std::uint64_t one_in = 1; ///< of the events that it stands for
  std::uint64_t events = 0;
  std::vector<line_efficiency> lines;
};

/// Of events that were decided by the same settings.
class settings_efficiency {
public:
  /// `lines` names those in the settings; one that is not there is called by its id.
  settings_efficiency(const std::map<std::uint32_t, std::string>& lines, bool records,
                      std::vector<std::string> references)
      : names_(lines), records_(records), references_(std::move(references)) {}

  /// `bytes`: of the event on the link, packed.
  void add(const summary_view& event, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Bytes of all events that a line kept; an event that several lines keep counts for each.
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
  std::vector<reference_sample> samples_; ///< in the order of `references_`, all events last
  std::vector<std::size_t> bits_;         ///< of the samples' lines
};

} // namespace l3
