// SPDX-License-Identifier: Apache-2.0
// What each trigger line costs of the output line (the link to the computing centre), from events
// whose lines and packed lengths are known: expected values over all prescales and control samples,
// so that rare lines do not need many events. The link is called `link` here, a trigger line
// `line`. A *rounding* is what lines allow the samples of an event to be off (`greatest_error`),
// counter by counter; an event of several lines has the least of their roundings in each counter,
// which may be a rounding that none of them has alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/format/payload.hpp"

namespace l3 {

struct budget_line {
  std::string name;
  double prescale = 1;
  event_payload payload = event_payload::all;
  std::uint32_t control = 0;
  std::size_t rounding = 0; ///< in budget::roundings
};

/// Bytes of an event, by its rounding, then by what is kept of it.
using packed_lengths = std::vector<std::array<std::uint32_t, event_payloads>>;

/// An event on which a line fired, or that is kept without one.
struct budget_event {
  std::uint32_t fired = 0; ///< bit n: line n; 0: it is always kept, whole
  std::uint32_t kind = 0;  ///< in budget::kinds
  packed_lengths bytes;
};

struct budget_kind {
  std::string name;
  std::uint64_t events = 0; ///< in the files, kept or not
};

/// The events of some files with the lengths that one codec (output.codec) gives them.
struct budget {
  std::string codec = "koto";
  std::vector<budget_line> lines; ///< in the order of their bits
  /// Those of the lines, and what any of these have in common: the greatest error in counts,
  /// rising. The first is exact.
  std::vector<std::uint32_t> roundings{0};
  /// The rounding that events have which lines of two roundings keep, by both.
  std::vector<std::vector<std::size_t>> least{{0}};
  std::vector<budget_kind> kinds;
  std::vector<budget_event> events;
  std::uint64_t events_seen = 0;
  double events_per_spill = 0;
  double link_bytes = 0; ///< that the link carries in a spill's cycle

  /// Spills of which the files hold the events.
  [[nodiscard]] double spills() const {
    return static_cast<double>(events_seen) / events_per_spill;
  }
};

/// What leaves in a spill, on average.
struct budget_sum {
  double events = 0;
  double bytes = 0;
};

/// What a menu keeps of these events, if line n has the prescale n; a prescale of infinity switches
/// a line off.
[[nodiscard]] budget_sum expected(const budget& b, std::span<const budget_line> menu);
/// The same by kind, and by what is kept.
[[nodiscard]] std::vector<budget_sum> expected_by_kind(const budget& b);
[[nodiscard]] std::array<budget_sum, event_payloads> expected_by_payload(const budget& b);
/// By the greatest error that the event states.
[[nodiscard]] std::map<std::uint32_t, budget_sum> expected_by_error(const budget& b);

struct line_cost {
  double fired = 0;                             ///< a spill
  budget_sum now;                               ///< of this line alone, as it is
  std::array<budget_sum, event_payloads> whole; ///< of it alone, without prescale, by payload
  std::array<budget_sum, event_payloads> exact; ///< the same without rounding
  std::optional<double> fills; ///< the prescale with which it fills the link beside the other lines
                               ///< as they are; nothing: these fill it, or it does not even with 1
};
[[nodiscard]] line_cost cost_of(const budget& b, std::size_t line);

/// The factor on all prescales above 1 with which the menu fills the link; none falls below 1.
/// Nothing: the menu does not fill it even without prescales, or does not fit with any.
[[nodiscard]] std::optional<double> filling_factor(const budget& b);
/// The menu with this factor on its prescales, rounded up to whole ones.
[[nodiscard]] std::vector<budget_line> scaled(const budget& b, double factor);

} // namespace l3
