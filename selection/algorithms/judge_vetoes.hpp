// SPDX-License-Identifier: Apache-2.0
// judge_vetoes: one block per event finds the level-1 bits, the counters that fired, and the
// counters that are unknown because one of their boards is missing or cannot be decoded. A
// counter fires if one of its modules has a hit above threshold and in time with the event. A
// counter in the beam needs a coincidence instead: `neighbours` adjacent modules, each with such
// a hit, all hits near in time. It also lists the highest hits of each counter for the event's
// summary.
//
// For counters that need a coincidence, the kernel sorts their hits by module and time. Every
// coincidence has a first hit, so each item takes one hit as the first, and finds by bisection
// whether the adjacent modules have a hit soon after.
#pragma once

#include <cstdint>
#include <string_view>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/sort.hpp"
#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"

namespace l3 {

struct judge_vetoes {
  static constexpr std::string_view name = "judge_vetoes";
  static constexpr blocks_for run_for = blocks_for::event;
  using reads = slot_list<board_signals, calorimeter, hits, hit_counts>;
  using writes = slot_list<veto_bits, high_hits>;

  static constexpr std::uint32_t width = 128;
  static constexpr std::uint32_t max_boards = 1024; ///< in a readout: 64 crates of 16

private:
  static constexpr std::uint32_t word_bits = 32;

public:
  struct shared {
    sort_space<hits::max_hits> near;               ///< hits of counters that need a coincidence
    std::uint32_t found;                           ///< number of hits in `near`
    std::uint32_t present[max_boards / word_bits]; ///< bit n: board n was read
    std::uint32_t fired;
    std::uint32_t unknown;
    std::uint32_t trigger;
    std::uint16_t high[max_vetoes][max_hits_of_counter]; // rows of each counter's highest hits
  };

  template <block B>
  L3_FN void
  operator()(const B& b, shared& s, const selection_frame& f,
             const board_signals::columns::const_view& boards,
             const calorimeter::columns::const_view& event, const hits::columns::const_view& all,
             const hit_counts::columns::const_view& counts, const veto_bits::columns::view& out,
             const high_hits::columns::view& high) const {
    const selection_tables& t = f.tables;
    const std::uint32_t e = b.index();
    for_each(b, max_boards / word_bits, [&](std::uint32_t w) { s.present[w] = 0; });
    for_each(b, 1, [&](std::uint32_t) {
      s.found = s.fired = s.trigger = 0;
      s.unknown = t.constants.dead_vetoes;
    });
    b.sync();
    look_at_boards(b, s, t, f.batch.events[e], boards);
    const std::uint32_t found = counts.found[e] < hits::max_hits ? counts.found[e] : hits::max_hits;
    const std::int32_t time = event.time[e];
    for_each(b, found,
             [&](std::uint32_t i) { look_at_hit(b, s, t, time, all[e * hits::max_hits + i]); });
    const std::uint32_t counters = number_of_counters(t);
    for_each(b, counters, [&](std::uint32_t c) {
      find_highest(s.high[c], t.vetoes[c], all, e * hits::max_hits, found);
    });
    b.sync();
    const std::uint32_t boards_of_readout = number_of_boards(t);
    for_each(b, boards_of_readout, [&](std::uint32_t n) {
      if ((s.present[n / word_bits] >> n % word_bits & 1) == 0)
        set_bits_within(b, &s.unknown, t.board_vetoes[n]);
    });
    const std::uint32_t n = s.found;
    sort_block(b, s.near, n);
    for_each(b, n, [&](std::uint32_t i) { look_beside(b, s, t, i, n); });
    for_each(b, counters, [&](std::uint32_t c) {
      list_highest(s, t.vetoes[c], c, all, e * hits::max_hits, high.all[e]);
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      high.all[e].count = listed_before(s, counters);
      out[e] = veto_bits::columns::value{s.fired, s.unknown, static_cast<std::uint16_t>(s.trigger)};
    });
  }

  [[nodiscard]] L3_FN static std::uint32_t number_of_boards(const selection_tables& t) {
    const std::uint32_t places = t.first_board.size();
    const std::uint32_t n = places == 0 ? 0 : t.first_board[places - 1];
    const std::uint32_t most =
        t.board_vetoes.size() < max_boards ? t.board_vetoes.size() : max_boards;
    return n < most ? n : most;
  }

  [[nodiscard]] L3_FN static std::uint32_t number_of_counters(const selection_tables& t) {
    return t.vetoes.size() < max_vetoes ? t.vetoes.size() : max_vetoes;
  }

  /// Whether a hit counts for `veto`, the counter of its module, in an event at `event_time`.
  [[nodiscard]] L3_FN static bool counts(const veto_entry& veto, const hits::columns::value& hit,
                                         std::int32_t event_time) {
    const std::int64_t since = std::int64_t{hit.time} - event_time;
    const bool is_its = std::uint32_t{hit.module} - veto.first_module < veto.modules;
    return is_its && hit.energy >= veto.threshold && since >= veto.from && since <= veto.to;
  }

  /// Returns the promise that the output breaks; nullptr if it keeps all.
  static const char* broken_promise(const selection_frame& f,
                                    const board_signals::columns::const_view&,
                                    const calorimeter::columns::const_view& event,
                                    const hits::columns::const_view& all,
                                    const hit_counts::columns::const_view& counts_of_hits,
                                    const veto_bits::columns::const_view& out,
                                    const high_hits::columns::const_view& high) {
    const selection_tables& t = f.tables;
    std::uint32_t can_be_unknown = t.constants.dead_vetoes;
    for (std::uint32_t n = 0; n < number_of_boards(t); ++n) can_be_unknown |= t.board_vetoes[n];
    for (std::uint32_t e = 0; e < f.batch.events.size(); ++e) {
      std::uint32_t reached = 0; // counters with a counting hit
      std::uint32_t alone = 0;   // of these, the counters that fire on one hit
      for (std::uint32_t i = 0; i < counts_of_hits.found[e] && i < hits::max_hits; ++i) {
        const hits::columns::value hit = all[e * hits::max_hits + i];
        if (hit.module >= t.modules.size()) continue;
        const std::uint32_t counter = t.modules[hit.module].veto;
        if (counter >= t.vetoes.size() || counter >= max_vetoes) continue;
        if (!counts(t.vetoes[counter], hit, event.time[e])) continue;
        reached |= 1U << counter;
        if (t.vetoes[counter].neighbours <= 1) alone |= 1U << counter;
      }
      if ((out.fired[e] & ~reached) != 0) return "a counter fired without a hit that counts";
      if ((alone & ~out.fired[e]) != 0) return "a hit that counts did not fire its counter";
      if ((out.unknown[e] & ~can_be_unknown) != 0) return "a counter without boards is unknown";
      if (out.trigger[e] > l2::payload_mask) return "the level-1 bits are more than a word holds";
      const std::uint32_t found =
          counts_of_hits.found[e] < hits::max_hits ? counts_of_hits.found[e] : hits::max_hits;
      if (!lists_highest(t, all, e * hits::max_hits, found, high.all[e]))
        return "the list does not hold the highest hits of each counter";
    }
    return nullptr;
  }

private:
  static constexpr std::uint16_t no_row = 0xffff;

  [[nodiscard]] L3_FN static bool is_of(const veto_entry& veto, std::uint32_t module) {
    return module - veto.first_module < veto.modules;
  }

  /// An order that does not depend on that of the rows.
  [[nodiscard]] L3_FN static bool is_higher(const hits::columns::const_view& all, std::uint32_t a,
                                            std::uint32_t b) {
    if (all.energy[a] != all.energy[b]) return all.energy[a] > all.energy[b];
    if (all.module[a] != all.module[b]) return all.module[a] < all.module[b];
    return all.time[a] < all.time[b];
  }

  L3_FN static void find_highest(std::uint16_t (&highest)[max_hits_of_counter],
                                 const veto_entry& veto, const hits::columns::const_view& all,
                                 std::uint32_t first, std::uint32_t found) {
    std::uint16_t best[max_hits_of_counter];
    for (std::uint16_t& b : best) b = no_row;
    for (std::uint32_t i = 0; i < found; ++i) {
      if (!is_of(veto, all.module[first + i])) continue;
      auto row = static_cast<std::uint16_t>(i);
      for (std::uint16_t& b : best) {
        if (b != no_row && !is_higher(all, first + row, first + b)) continue;
        const std::uint16_t lower = b;
        b = row;
        row = lower;
        if (row == no_row) break;
      }
    }
    for (std::uint32_t k = 0; k < max_hits_of_counter; ++k) highest[k] = best[k];
  }

  /// Number of listed hits of the counters before this one.
  [[nodiscard]] L3_FN static std::uint32_t listed_before(const shared& s, std::uint32_t counter) {
    std::uint32_t listed = 0;
    for (std::uint32_t c = 0; c < counter; ++c)
      for (const std::uint16_t row : s.high[c]) listed += row != no_row ? 1 : 0;
    return listed;
  }

  L3_FN static void list_highest(const shared& s, const veto_entry& veto, std::uint32_t counter,
                                 const hits::columns::const_view& all, std::uint32_t first,
                                 high_hits::list& to) {
    std::uint32_t at = listed_before(s, counter);
    for (const std::uint16_t row : s.high[counter])
      if (row != no_row) to.hit[at++] = summary_of(veto, counter, all, first + row);
  }

  [[nodiscard]] L3_FN static veto_hit_summary summary_of(const veto_entry& veto,
                                                         std::uint32_t counter,
                                                         const hits::columns::const_view& all,
                                                         std::uint32_t row) {
    veto_hit_summary hit;
    hit.energy = all.energy[row];
    hit.time = all.time[row];
    hit.module = static_cast<std::uint16_t>(all.module[row] - veto.first_module);
    hit.counter = static_cast<std::uint8_t>(counter);
    return hit;
  }

  [[nodiscard]] static bool lists_highest(const selection_tables& t,
                                          const hits::columns::const_view& all, std::uint32_t first,
                                          std::uint32_t found, const high_hits::list& list) {
    std::uint32_t at = 0;
    for (std::uint32_t c = 0; c < number_of_counters(t); ++c) {
      std::uint16_t rows[max_hits_of_counter];
      find_highest(rows, t.vetoes[c], all, first, found);
      for (const std::uint16_t row : rows) {
        if (row == no_row) continue;
        if (at == list.count || list.hit[at++] != summary_of(t.vetoes[c], c, all, first + row))
          return false;
      }
    }
    return at == list.count;
  }

  // The sort key of a hit: its module, then its time, biased so that it sorts as unsigned.
  static constexpr std::uint32_t time_bits = 32;
  static constexpr std::uint32_t time_bias = 0x80000000;
  [[nodiscard]] L3_FN static std::uint64_t key_of(std::uint32_t module, std::uint32_t biased_time) {
    return std::uint64_t{module} << time_bits | biased_time;
  }

  template <block B>
  L3_FN static void look_at_boards(const B& b, shared& s, const selection_tables& t,
                                   const event_entry& event,
                                   const board_signals::columns::const_view& boards) {
    for_each(b, event.boards, [&](std::uint32_t k) {
      const std::uint32_t number = boards.number[event.first_board + k];
      if (number == board_signals::unread) return;
      if (number < max_boards)
        set_bits_within(b, &s.present[number / word_bits], 1U << number % word_bits);
      if (number == t.constants.trigger_board)
        set_bits_within(b, &s.trigger, boards.trigger[event.first_board + k]);
    });
  }

  template <block B>
  L3_FN static void look_at_hit(const B& b, shared& s, const selection_tables& t,
                                std::int32_t event_time, const hits::columns::value& hit) {
    if (hit.module >= t.modules.size()) return;
    const std::uint32_t counter = t.modules[hit.module].veto;
    if (counter >= t.vetoes.size() || counter >= max_vetoes) return;
    const veto_entry& veto = t.vetoes[counter];
    if (!counts(veto, hit, event_time)) return;
    if (veto.neighbours <= 1) {
      set_bits_within(b, &s.fired, 1U << counter);
    } else {
      const std::uint32_t at = fetch_add_within(b, &s.found, 1); // at most max_hits
      s.near.keys[at] = key_of(hit.module, static_cast<std::uint32_t>(hit.time) ^ time_bias);
    }
  }

  /// Fires the counter of the sorted hit i if that hit is the first of a coincidence.
  template <block B>
  L3_FN static void look_beside(const B& b, shared& s, const selection_tables& t, std::uint32_t i,
                                std::uint32_t n) {
    const auto module = static_cast<std::uint32_t>(s.near.keys[i] >> time_bits);
    const auto begin = static_cast<std::uint32_t>(s.near.keys[i]);
    const std::uint32_t counter = t.modules[module].veto;
    const veto_entry& veto = t.vetoes[counter];
    if (veto.within < 0) return;
    const auto within = static_cast<std::uint32_t>(veto.within);
    const std::uint32_t end = begin + within < begin ? 0xffffffff : begin + within;
    const std::uint32_t first = veto.first_module;
    const std::uint32_t last = first + veto.modules;
    std::uint32_t low = module;
    std::uint32_t high = module;
    const auto enough = [&] { return high - low + 1 >= veto.neighbours; };
    while (!enough() && low > first && has_hit(s, n, low - 1, begin, end)) --low;
    while (!enough() && high + 1 < last && has_hit(s, n, high + 1, begin, end)) ++high;
    if (enough()) set_bits_within(b, &s.fired, 1U << counter);
  }

  /// Whether one of the n sorted hits is in `module` from `begin` to `end`.
  [[nodiscard]] L3_FN static bool has_hit(const shared& s, std::uint32_t n, std::uint32_t module,
                                          std::uint32_t begin, std::uint32_t end) {
    const std::uint64_t least = key_of(module, begin);
    std::uint32_t low = 0;
    for (std::uint32_t high = n; low < high;) {
      const std::uint32_t middle = (low + high) / 2;
      if (s.near.keys[middle] < least) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < n && s.near.keys[low] <= key_of(module, end);
  }
};

} // namespace l3
