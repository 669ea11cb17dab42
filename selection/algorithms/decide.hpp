// SPDX-License-Identifier: Apache-2.0
// decide: one block per event judges every trigger line and decides whether the event is kept.
// Lines are data (selection/sequence/tables.hpp): each has level-1 bits, counters and ranges of
// quantities as conditions, and a prescale. The kernel keeps an event if a line fires and its
// prescale lets the event pass.
//
// An event with more clusters or hits than there is room for is overfull: its quantities and
// counters are unknown. Lines that use neither judge it like any other event, lines with
// `overfull` fire on it, and all other lines do not judge it. If no line takes overfull events,
// all of them are kept. In the mode `record` every event is kept, and its status says whether a
// line kept it.
//
// A prescale of n keeps one event in n, chosen only by a hash of run, spill, event number and line:
// the same event gets the same decision on any node, in any batch, on any device, and in any
// replay.
#pragma once

#include <cstdint>

#include "gpu/executors/atomics.hpp"
#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"
#include "transport/format/prescale.hpp"

namespace l3 {

struct decide {
  static constexpr std::string_view name = "decide";
  static constexpr blocks_for run_for = blocks_for::event;
  using reads = slot_list<board_signals, hit_counts, veto_bits, high_hits>;
  using updates = slot_list<summaries>;
  using writes = slot_list<>;

  static constexpr std::uint32_t width = 32;

  struct shared {
    std::uint32_t undecodable; // number of boards and fragments that cannot be decoded
    std::uint8_t reason[max_lines];
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const selection_frame& f,
                        const board_signals::columns::const_view& boards,
                        const hit_counts::columns::const_view& found,
                        const veto_bits::columns::const_view& vetoes,
                        const high_hits::columns::const_view& high,
                        const summaries::columns::view& out) const {
    const std::uint32_t e = b.index();
    const event_entry event = f.batch.events[e];
    const std::uint32_t lines = f.tables.constants.lines;
    for_each(b, 1, [&](std::uint32_t) { s.undecodable = 0; });
    b.sync();
    for_each(b, event.boards, [&](std::uint32_t k) {
      if (boards.number[event.first_board + k] == board_signals::unread)
        static_cast<void>(fetch_add(b, &s.undecodable, 1));
    });
    for_each(b, event.fragments, [&](std::uint32_t k) {
      if (f.batch.fragments[event.first_fragment + k].raw != 0)
        static_cast<void>(fetch_add(b, &s.undecodable, 1));
    });
    b.sync();
    const std::uint32_t status =
        out.all[e].status | (found.found[e] > hits::max_hits ? std::uint32_t{too_many_hits} : 0U);
    const bool overfull = (status & not_judged) != 0;
    const seen what{vetoes.fired[e], vetoes.unknown[e], vetoes.trigger[e], s.undecodable != 0,
                    overfull};
    const high_hits::list& highest = high.all.data()[e]; // in place, because a copy would be long
    for_each(b, highest.count, [&](std::uint32_t k) { out.all[e].hit[k] = highest.hit[k]; });
    for_each(b, lines, [&](std::uint32_t n) {
      const line_entry& line = f.tables.lines[n];
      std::uint8_t why = reason_against(line, what, out.all[e]);
      if (why == line_fired && !survives_prescale(f.tables.constants.run, event.spill, event.number,
                                                  line.id, line.prescale))
        why = line_prescale;
      s.reason[n] = why;
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      event_summary& summary = out.all[e];
      summary.status = static_cast<std::uint8_t>(status);
      summary.vetoes = what.vetoes;
      summary.unknown = what.unknown;
      summary.trigger = what.trigger;
      summary.lines = static_cast<std::uint8_t>(lines);
      summary.hits = static_cast<std::uint8_t>(highest.count);
      for (std::uint32_t n = 0; n < lines; ++n) {
        const std::uint8_t why = s.reason[n];
        summary.reason[n] = why;
        if (why == line_fired) summary.kept_by |= 1U << n;
        if (why == line_fired || why == line_prescale) summary.fired |= 1U << n;
      }
      const bool wanted = summary.kept_by != 0 || is_kept_unjudged(f.tables.constants, status);
      const bool records = f.tables.constants.record != 0;
      if (records && !wanted) summary.status = static_cast<std::uint8_t>(summary.status | recorded);
      summary.kept = wanted || records ? 1 : 0;
      f.packing.events.accepted[e] = summary.kept;
    });
  }

  static const char* broken_promise(const selection_frame& f,
                                    const board_signals::columns::const_view&,
                                    const hit_counts::columns::const_view&,
                                    const veto_bits::columns::const_view&,
                                    const high_hits::columns::const_view& high,
                                    const summaries::columns::const_view& out) {
    const std::uint32_t lines = f.tables.constants.lines;
    for (std::uint32_t e = 0; e < f.batch.events.size(); ++e) {
      const event_summary& s = out.all[e];
      if ((s.kept_by & ~s.fired) != 0) return "a line keeps an event on which it did not fire";
      if (lines < max_lines && (s.fired >> lines) != 0) return "a line that does not exist fired";
      const bool wanted = s.kept_by != 0 || is_kept_unjudged(f.tables.constants, s.status);
      const bool records = f.tables.constants.record != 0;
      if ((s.kept != 0) != (wanted || records))
        return "an event is kept and no line kept it, or the reverse";
      if (((s.status & recorded) != 0) != (records && !wanted))
        return "the status and the lines disagree about recording";
      if (s.hits != high.all[e].count) return "the hits are not those that were found";
      if (f.packing.events.accepted[e] != s.kept) return "the decision and `accepted` differ";
    }
    return nullptr;
  }

private:
  /// The properties of the event besides its quantities.
  struct seen {
    std::uint32_t vetoes;
    std::uint32_t unknown;
    std::uint16_t trigger;
    bool undecodable;
    bool overfull;
  };

  [[nodiscard]] L3_FN static bool is_kept_unjudged(const selection_constants& constants,
                                                   std::uint32_t status) {
    return (status & not_judged) != 0 && constants.overfull_lines == 0;
  }

  [[nodiscard]] L3_FN static std::uint8_t reason_against(const line_entry& line, const seen& what,
                                                         const event_summary& event) {
    const bool asks_trigger = (line.trigger_any | line.trigger_none) != 0;
    const std::uint32_t looked_at = line.vetoes_off | line.vetoes_on |
                                    (asks_trigger ? trigger_unknown : 0U) |
                                    (line.ranges != 0 ? calorimeter_unknown : 0U);
    const std::uint32_t unknown = looked_at & what.unknown;
    if (unknown != 0 && line.unknown == unknown_rule::refuse) return line_unknown;
    // Without the trigger board there are no level-1 bits to judge. A line whose rule is not
    // `refuse` treats the event as triggered.
    if ((unknown & trigger_unknown) == 0) {
      if (line.trigger_any != 0 && (line.trigger_any & what.trigger) == 0) return line_trigger;
      if ((line.trigger_none & what.trigger) != 0) return line_trigger;
    }
    if (line.undecodable != 0 && !what.undecodable) return line_decodable;
    if (line.overfull != 0) return what.overfull ? line_fired : line_not_overfull;
    if (what.overfull && (line.ranges != 0 || (line.vetoes_off | line.vetoes_on) != 0))
      return line_not_judged;
    const std::uint32_t let_pass = line.unknown == unknown_rule::keep ? unknown : 0;
    if ((line.vetoes_off & what.vetoes) != 0) return line_veto;
    if ((line.vetoes_on & ~what.vetoes & ~let_pass) != 0) return line_veto_missing;
    if ((let_pass & calorimeter_unknown) != 0) return line_fired;
    for (std::uint32_t k = 0; k < line.ranges; ++k) {
      const range_entry& range = line.range[k];
      const auto which = static_cast<std::uint32_t>(range.what);
      const std::int32_t value = event.quantity[which];
      if (value == undefined_quantity || value < range.from || value > range.to)
        return static_cast<std::uint8_t>(line_out_of_range + which);
    }
    return line_fired;
  }
};

} // namespace l3
