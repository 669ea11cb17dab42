// SPDX-License-Identifier: Apache-2.0
// ignore_vetoes replaces match_ends and judge_vetoes in a sequence that measures what the lines
// keep without vetoes: how much the vetoes reject, and how much time they take. It finds only the
// level-1 bits.
#pragma once

#include <cstdint>
#include <string_view>

#include "gpu/executors/block.hpp"
#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"

namespace l3 {

struct ignore_vetoes {
  static constexpr std::string_view name = "ignore_vetoes";
  static constexpr blocks_for run_for = blocks_for::event;
  using reads = slot_list<board_signals>;
  using writes = slot_list<hit_counts, veto_bits, high_hits>;

  static constexpr std::uint32_t width = 32; // on a device

  struct shared {
    std::uint16_t trigger;
    std::uint32_t unknown;
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const selection_frame& f,
                        const board_signals::columns::const_view& boards,
                        const hit_counts::columns::view& found,
                        const veto_bits::columns::view& bits,
                        const high_hits::columns::view& high) const {
    const event_entry event = f.batch.events[b.index()];
    for_each(b, 1, [&](std::uint32_t) {
      s.trigger = 0;
      s.unknown = trigger_unknown;
    });
    b.sync();
    for_each(b, event.boards, [&](std::uint32_t k) { // at most one of them is the trigger board
      const std::uint32_t board = event.first_board + k;
      if (boards.number[board] != f.tables.constants.trigger_board) return;
      s.trigger = boards.trigger[board];
      s.unknown = 0;
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      found[b.index()] = {0};
      bits[b.index()] = {0, s.unknown, s.trigger};
      high.all[b.index()].count = 0;
    });
  }

  static const char* broken_promise(const selection_frame& f,
                                    const board_signals::columns::const_view&,
                                    const hit_counts::columns::const_view& found,
                                    const veto_bits::columns::const_view& bits,
                                    const high_hits::columns::const_view& high) {
    for (std::uint32_t e = 0; e < f.batch.events.size(); ++e)
      if (found.found[e] != 0 || bits.fired[e] != 0 || high.all[e].count != 0 ||
          (bits.unknown[e] & ~trigger_unknown) != 0)
        return "a counter that is ignored fired";
    return nullptr;
  }
};

} // namespace l3
