// SPDX-License-Identifier: Apache-2.0
// Keeps the current spills. Trailers and board headers name their spill; the numbers have 9 bits
// and wrap, and no checksum protects them. The tracker keeps the current spill; the previous one,
// whose last events may still be completed; and two candidates. The first datagram that names
// another spill makes it a candidate. A second one confirms it, and it becomes current. Each
// datagram of the current spill cancels a confirmation.
//
// Two strays can also confirm a spill. So a spill is proven when one of its events is whole or
// admitted, a record names it, or 64 datagrams did. Only a proven spill replaces the previous one
// and keeps older spills out; an unproven one becomes a candidate again when the next spill is
// confirmed. A silent candidate without open events is dropped.
//
// A spill that leaves these four is over: the builder ends its open events between two datagrams,
// and frees its table. Until then a spare table holds the new spill.
//
// The tracker also knows the admitted events (known_events.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "transport/building/known_events.hpp"
#include "transport/building/settings.hpp"
#include "transport/building/spill_table.hpp"
#include "transport/format/event_key.hpp"

namespace l3 {

/// The distance in spills from `from` to `to`, −256 … 255, across the wrap at 512.
[[nodiscard]] constexpr int spill_distance(std::uint32_t from, std::uint32_t to) {
  constexpr int spills = l2::spill_mask + 1;
  const int d = static_cast<int>((to - from) & l2::spill_mask);
  return d < spills / 2 ? d : d - spills;
}

class spill_tracker {
public:
  explicit spill_tracker(const building_settings& settings); ///< must outlive this object

  /// The spill that a datagram names; nullptr if it is far from the current ones, or no table is
  /// free. `statement` identifies the datagram: a repeated one confirms nothing. `by`: the
  /// bit of its crate; an end of spill needs none.
  [[nodiscard]] spill_table* stated(std::uint32_t spill, std::uint64_t statement, time_point now,
                                    std::uint64_t by = 0);
  /// The likeliest spill of a chunk if neither it nor a sibling names one; nullptr if no spill has
  /// begun.
  [[nodiscard]] spill_table* unstated(std::uint32_t event_number);
  /// The spill of a record, whose number is certain. nullptr if it is older than the current
  /// spills, or no table is free; then only its admitted events are known.
  [[nodiscard]] spill_table* recorded(std::uint32_t spill, time_point now);

  /// The current spill, the candidates, the previous one; nullptr for each missing one.
  [[nodiscard]] std::array<spill_table*, 4> in_use() const {
    return {current_, candidates_[0], candidates_[1], previous_};
  }
  /// The spill, if it is one of the four.
  [[nodiscard]] spill_table* find(std::uint32_t spill);
  /// Whether the spill was over before the last ones: its ends come too late to count.
  [[nodiscard]] bool is_past(std::uint32_t spill) {
    return is_older(spill) && find(spill) == nullptr;
  }

  /// Call it when an event of the spill has arrived whole, which confirms and proves the spill.
  void confirm_by(spill_table& table, std::uint32_t event_number);

  /// Closes spills that have been silent long enough or have arrived completely.
  void tick(time_point now);
  void close_all();
  /// Whether, as of the last tick(), no spill has begun or the current one is over: a sender has
  /// marked its end, or nothing came for ten seconds. Where a spill came and went without a mark,
  /// the next one is over when it is silent.
  [[nodiscard]] bool between_spills() const {
    return current_ == nullptr || long_silent_ ||
           (current_->closed && (current_->expected() || !ends_are_marked_));
  }

  // Spills that are over.

  [[nodiscard]] bool any_over() const { return !over_.empty(); }
  /// A finished spill that still has open events; nullptr if there is none.
  [[nodiscard]] spill_table* with_events_to_end();
  /// Frees the table of a finished spill without open events, and adds its sums to `out`. Returns
  /// false if there is none.
  bool free_one_over(std::vector<spill_summary>& out);

  /// Adds the sums of spills that have ended or changed since the last call.
  void take_summaries(std::vector<spill_summary>& out);

  [[nodiscard]] bool was_admitted(event_key key) const { return known_.mark(key) != 0; }
  /// Whether the event was admitted less than 512 spills ago.
  [[nodiscard]] bool is_repeat(event_key key) const {
    return is_older(key.spill) && was_admitted(key);
  }
  /// Marks the event as admitted, which proves its spill.
  void set_admitted(event_key key, std::uint32_t mark);
  /// Whether the event was admitted with another mark.
  [[nodiscard]] bool was_another(event_key key, std::uint32_t mark) const {
    return was_admitted(key) && known_.mark(key) != mark;
  }

  /// Call it when the connection has closed: a later one may repeat its records.
  void stream_gone(std::uint64_t stream);
  [[nodiscard]] std::uint64_t spills_begun() const { return begun_; }
  /// Memory of all tables, and of the marks if each spill has the most events.
  [[nodiscard]] static std::size_t memory_plan(const building_settings& settings);

private:
  /// The spill as a candidate; nullptr if it may not be one, or no table is free.
  [[nodiscard]] spill_table** candidate(std::uint32_t spill, time_point now);
  /// Notes that a datagram has named the spill.
  static void state(spill_table& table, std::uint64_t statement, time_point now);
  void confirm(spill_table*& candidate);
  void prove(spill_table& table);
  [[nodiscard]] bool may_follow(std::uint32_t spill) const;
  /// Whether the spill is not newer than a proven one.
  [[nodiscard]] bool is_older(std::uint32_t spill) const;
  /// Removes the spill from the four.
  void is_over(spill_table*& table);
  /// Forgets the events of spill numbers that are used again after 512 spills.
  void forget_events(std::uint32_t upto);

  const building_settings& settings_;
  std::deque<spill_table> tables_;
  std::vector<spill_table*> free_;
  std::vector<spill_table*> over_;
  spill_table* previous_ = nullptr;
  spill_table* current_ = nullptr;
  std::array<spill_table*, 2> candidates_{};
  known_events known_;
  std::optional<std::uint32_t> newest_; // the newest proven spill
  bool ends_are_marked_ = true;
  bool long_silent_ = false; // no current spill had data for ten seconds
  std::uint64_t begun_ = 0;
  std::uint64_t tables_taken_ = 0; // in total
};

} // namespace l3
