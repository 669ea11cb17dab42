// SPDX-License-Identifier: Apache-2.0
// What is given up when everything behind the kernels is nearly full: memory and disk hold more
// than 95 % of what they can, or an event waits for room all the same, because the disk is slow,
// and frames run out; and events come that cannot wait, because their sender keeps none. Then whole
// events go, those of the lines with the lowest priority first, by prescales of 2, 8, 32, and at
// last altogether, which rise as long as that is not enough; they end when a fifth is free again
// and nothing waits. Each is a hash of the event's key as a line's own prescale is
// (docs/formats.md, section 7), so an analysis can tell what was given up, and every event is
// counted. Events that their sender keeps are never given up: he waits.
//
// The drain thread drives it; any thread may ask.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/format/batch.hpp"
#include "transport/format/summary.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class shedding {
public:
  struct line {
    std::uint32_t id = 0;
    std::uint8_t priority = 0;
  };
  static constexpr double begins_at = 0.95; ///< of all there is room for
  static constexpr double ends_at = 0.80;

  /// Without lines all events are of one priority.
  shedding(std::uint32_t run, std::vector<line> lines);

  // --- the drain thread ---

  /// `fullness`: part of the room that is taken, 0 … 1. To be called every few milliseconds.
  void look(double fullness, time_point now);
  /// Whether the event goes on; if not, that is counted. `summary`: if a selection runs.
  [[nodiscard]] bool keeps(const event_entry& event, const event_summary* summary, time_point now);

  // --- any thread ---

  /// Something is given up now.
  [[nodiscard]] bool active() const { return level_ != 0; }
  /// Beside the line's own; 1: all of its events go on, 0: none.
  [[nodiscard]] std::uint32_t prescale(std::size_t which) const;
  /// Events given up that this line would have kept.
  [[nodiscard]] std::uint64_t events_shed(std::size_t which) const { return shed_[which]; }

private:
  static constexpr std::array<std::uint32_t, 4> steps{2, 8, 32, 0};

  [[nodiscard]] std::uint32_t prescale_of_class(std::uint32_t priority_class) const;
  [[nodiscard]] bool survives(std::size_t which, const event_entry& event) const;

  std::uint32_t run_;
  std::vector<line> lines_;
  std::vector<std::uint32_t> class_of_; ///< of each line: 0 is given up first
  std::uint32_t classes_ = 1;
  std::uint32_t most_ = 0; ///< level
  std::atomic<std::uint32_t> level_{0};
  time_point changed_at_{};
  /// When the last event came that its sender does not keep.
  std::optional<time_point> unkept_at_;
  std::array<counter, max_lines> shed_;
};

} // namespace l3
