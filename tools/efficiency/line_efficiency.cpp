// SPDX-License-Identifier: Apache-2.0
#include "tools/efficiency/line_efficiency.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace l3 {

void settings_efficiency::begin(const summary_view& event) {
  link_bytes_.resize(event.lines.size());
  reference_sample empty;
  for (const packed_line& line : event.lines) {
    line_efficiency& of = empty.lines.emplace_back();
    const auto known = names_.find(line.id);
    of.name = known != names_.end() ? known->second : fmt::format("line {:#010x}", line.id);
    of.prescale = line.prescale;
  }
  for (const std::string& name : references_) {
    const auto at = std::ranges::find(empty.lines, name, &line_efficiency::name);
    if (at == empty.lines.end()) continue;
    samples_.push_back(empty);
    samples_.back().name = name;
    samples_.back().one_in = at->prescale;
    bits_.push_back(static_cast<std::size_t>(at - empty.lines.begin()));
  }
  if (!records_) return;
  samples_.push_back(empty);
  samples_.back().name = all_events;
}

void settings_efficiency::add(const summary_view& event, std::uint64_t bytes) {
  if (events_++ == 0) begin(event);
  if (samples_.empty() || event.lines.size() != samples_.front().lines.size()) return;
  for (std::size_t n = 0; n < event.lines.size(); ++n)
    if ((event.head.kept_by >> n & 1) != 0) link_bytes_[n] += bytes;
  for (std::size_t n = 0; n < samples_.size(); ++n)
    if (n >= bits_.size() || (event.head.kept_by >> bits_[n] & 1) != 0) add(event, samples_[n]);
}

void settings_efficiency::add(const summary_view& event, reference_sample& to) const {
  ++to.events;
  for (std::size_t n = 0; n < to.lines.size(); ++n) {
    line_efficiency& line = to.lines[n];
    const bool fired = (event.head.fired >> n & 1) != 0;
    line.of_all.add(fired);
    const std::uint8_t reason = event.reasons[n];
    if (reason != line_trigger) line.of_triggered.add(fired);
    if (!fired) ++line.refused[reason];
  }
}

} // namespace l3
