// SPDX-License-Identifier: Apache-2.0
// Sheds events by priority. Sheds events whose sender keeps no copy while memory and disk are more
// than 95 % full, or while an event waits for a slow disk and frames run out. It drops whole events
// of the lines with the lowest priority first, by prescales of 2, 8, 32, then all of them. Each
// higher priority begins later, so the last room is for the highest. The prescales rise as long as
// that is not enough, and end when a fifth is free again and no event waits. Each prescale is a
// hash of the event's key, like a line's own (docs/formats.md, section 7), so an analysis can tell
// which events were shed. Every shed event is counted. Events that their sender keeps are never
// shed: the sender waits.
//
// The drain thread drives it; any thread may read it.
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
  static constexpr double begins_at = 0.95; ///< fraction of memory and disk, for the lowest one
  static constexpr double ends_at = 0.80;

  /// Without lines all events have one priority.
  shedding(std::uint32_t run, std::vector<line> lines);

  // For the drain thread.

  /// `fullness`: occupied fraction of the room, 0 … 1. Call it every few milliseconds.
  void look(double fullness, time_point now);
  /// Whether the event is kept; a shed event is counted. `summary`: nullptr without a selection.
  [[nodiscard]] bool keeps(const event_entry& event, const event_summary* summary, time_point now);

  // Any thread.

  /// Whether events are being shed.
  [[nodiscard]] bool active() const { return level_ != 0; }
  /// The prescale on top of the line's own: 1 keeps all of its events, 0 none.
  [[nodiscard]] std::uint32_t prescale(std::size_t which) const;
  /// Shed events that this line would have kept.
  [[nodiscard]] std::uint64_t events_shed(std::size_t which) const { return shed_[which]; }

private:
  static constexpr std::array<std::uint32_t, 4> steps{2, 8, 32, 0};

  [[nodiscard]] std::uint32_t prescale_of_class(std::uint32_t priority_class) const;
  [[nodiscard]] bool survives(std::size_t which, const event_entry& event) const;

  std::uint32_t run_;
  std::vector<line> lines_;
  std::vector<std::uint32_t> class_of_; ///< class of each line; class 0 is shed first
  std::uint32_t classes_ = 1;
  std::uint32_t most_ = 0; ///< highest level
  std::atomic<std::uint32_t> level_{0};
  time_point changed_at_{};
  /// When the last event arrived that its sender does not keep.
  std::optional<time_point> unkept_at_;
  std::array<counter, max_lines> shed_;
};

} // namespace l3
