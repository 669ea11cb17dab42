// SPDX-License-Identifier: Apache-2.0
// The outcomes of events by line. One thread counts, any thread reads; no count is ever reset.
#pragma once

#include <array>
#include <cstdint>

#include "transport/accounting/counters.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

class line_counts {
public:
  /// Every line_reason is below this.
  static constexpr std::uint32_t reasons = line_out_of_range + quantities;

  void add(const event_summary& s) {
    if ((s.status & not_judged) != 0) not_judged_.add();
    if ((s.status & recorded) != 0) recorded_.add();
    for (std::uint32_t n = 0; n < s.lines; ++n) {
      of_line& l = lines_[n];
      if ((s.fired >> n & 1) != 0) l.fired.add();
      if ((s.kept_by >> n & 1) != 0) l.kept.add();
      l.refused[s.reason[n]].add(); // line_fired has no reader
    }
  }

  [[nodiscard]] std::uint64_t fired(std::uint32_t line) const { return lines_[line].fired; }
  /// The line fired and its prescale kept the event.
  [[nodiscard]] std::uint64_t kept(std::uint32_t line) const { return lines_[line].kept; }
  /// Events that this line did not keep for this reason, whether or not another line kept them.
  /// Kept and refused events of a line together are all judged events.
  [[nodiscard]] std::uint64_t refused(std::uint32_t line, std::uint32_t reason) const {
    return lines_[line].refused[reason];
  }
  /// Events with more clusters or hits than there is room for, kept or not.
  [[nodiscard]] std::uint64_t events_not_judged() const { return not_judged_; }
  /// Events that no line kept but the mode `record` did.
  [[nodiscard]] std::uint64_t events_recorded() const { return recorded_; }

private:
  struct of_line {
    counter fired;
    counter kept;
    std::array<counter, reasons> refused;
  };
  std::array<of_line, max_lines> lines_;
  counter not_judged_;
  counter recorded_;
};

} // namespace l3
