// SPDX-License-Identifier: Apache-2.0
// match_ends combines pulses to hits in the modules of the vetoes. One block per event gathers the
// pulses of all veto inputs and sorts them by module, end and time. One item per module then walks
// along its two ends together: if the first two pulses match they are a hit, else the earlier one
// alone is a hit. So each pulse of end 0, in order of time, gets the first matching pulse of end 1
// that is left, and a module with n pulses takes n steps.
//
// If an event has more than max_pulses pulses, the count of hits is the number of pulses and the
// rows have no modules. The count is above max_hits, so `decide` passes the event without judging
// it.
#pragma once

#include <cstdint>
#include <string_view>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/bits.hpp"
#include "gpu/executors/sort.hpp"
#include "selection/algorithms/module_ends.hpp"
#include "selection/sequence/algorithm.hpp"

namespace l3 {

struct match_ends {
  static constexpr std::string_view name = "match_ends";
  static constexpr blocks_for run_for = blocks_for::event;
  using reads = slot_list<pulses, board_signals>;
  using writes = slot_list<hits, hit_counts>;

  static constexpr std::uint32_t width = 128;
  static constexpr std::uint32_t max_pulses = 2048; ///< KOTO's veto inputs give fewer in total
  static_assert(max_pulses > hits::max_hits, "a lost event is one with too many hits");

private:
  static constexpr std::uint32_t word_bits = 32;
  static constexpr std::uint32_t words = max_pulses / word_bits;

public:
  struct shared {
    sort_space<max_pulses> pulses; ///< keys: the sorted pulses; other, later: hits of each
                                   ///< module, from the place of its first pulse on
    std::uint32_t found;           ///< number of pulses
    std::uint32_t used[words];     ///< bit i of word w: pulses.other has a hit at 32 w + i
    std::uint32_t before[words];   ///< number of hits before this word
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const selection_frame& f,
                        const pulses::columns::const_view& seen,
                        const board_signals::columns::const_view& boards,
                        const hits::columns::view& out,
                        const hit_counts::columns::view& counts) const {
    const std::uint32_t e = b.index();
    for_each(b, 1, [&](std::uint32_t) { s.found = 0; });
    b.sync();
    gather(b, s, f, f.batch.events[e], seen, boards);
    b.sync();
    const std::uint32_t n = s.found;
    if (n > max_pulses) {
      for_each(b, hits::max_hits, [&](std::uint32_t i) {
        out[e * hits::max_hits + i] = hits::columns::value{0, 0, 0, hits::no_module, 0};
      });
      for_each(b, 1, [&](std::uint32_t) { counts.found[e] = n; });
      return;
    }
    sort_block(b, s.pulses, n);
    for_each(b, n, [&](std::uint32_t i) {
      if (i == 0 || module_at(s, i - 1) != module_at(s, i)) match_module(f.tables, s, i, n);
    });
    b.sync();
    count_hits(b, s, n, counts.found.data() + e);
    for_each(b, n, [&](std::uint32_t i) {
      const std::uint32_t hit = s.pulses.other[i] == no_hit ? hits::max_hits : place_of(s, i);
      if (hit < hits::max_hits) out[e * hits::max_hits + hit] = hit_of(f.tables, s, i);
    });
  }

  /// Returns the promise that the output breaks; nullptr if it keeps all.
  static const char* broken_promise(const selection_frame& f, const pulses::columns::const_view&,
                                    const board_signals::columns::const_view& boards,
                                    const hits::columns::const_view& out,
                                    const hit_counts::columns::const_view& counts) {
    for (std::uint32_t e = 0; e < f.batch.events.size(); ++e) {
      const event_entry& event = f.batch.events[e];
      std::uint32_t lit = 0;
      for (std::uint32_t k = 0; k < event.boards; ++k)
        lit += ones(boards.lit[event.first_board + k]);
      const std::uint32_t found = counts.found[e];
      if (found > lit) return "there are more hits than pulses";
      std::uint32_t least_module = 0;
      for (std::uint32_t i = 0; i < found && i < hits::max_hits; ++i) {
        const hits::columns::value hit = out[e * hits::max_hits + i];
        if (hit.module == hits::no_module && found > max_pulses) continue;
        if (hit.module >= f.tables.modules.size())
          return "a hit is in a module that does not exist";
        if (hit.module < least_module) return "hits are not sorted by module";
        least_module = hit.module;
        if (hit.energy < 0) return "a hit has negative energy";
        if (hit.ends == 0 || hit.ends > module_ends::both_ends) return "no end saw a hit";
        if (hit.z != 0 && hit.ends != module_ends::both_ends)
          return "a hit of one end has a place along its module";
        if (!module_ends(f.tables, hit.module).holds(hit.z)) return "a hit is beyond its module";
      }
    }
    return nullptr;
  }

private:
  // A hit before its energy, time and place are computed: the indices of its pulses at both ends.
  static constexpr std::uint32_t no_pulse = 0xffffffff;
  static constexpr std::uint64_t no_hit = ~std::uint64_t{0};
  [[nodiscard]] L3_FN static std::uint64_t pulses_of_hit(std::uint32_t up, std::uint32_t down) {
    return std::uint64_t{down} << 32 | up;
  }

  [[nodiscard]] L3_FN static std::uint32_t module_at(const shared& s, std::uint32_t i) {
    return end_pulse::of(s.pulses.keys[i]).module();
  }

  template <block B>
  L3_FN static void gather(const B& b, shared& s, const selection_frame& f,
                           const event_entry& event, const pulses::columns::const_view& seen,
                           const board_signals::columns::const_view& boards) {
    const selection_tables& t = f.tables;
    for_each(b, event.boards, [&](std::uint32_t k) {
      const std::uint32_t board = event.first_board + k;
      const std::uint32_t number = boards.number[board];
      if (number == board_signals::unread || number >= t.board_vetoes.size()) return;
      if ((t.board_vetoes[number] & ~(calorimeter_unknown | trigger_unknown)) == 0) return;
      const bool fast = f.batch.boards[board].kind == board_kind::sampling_500_mhz;
      const std::uint32_t rows_per_channel = fast ? 4 : 1;
      for (std::uint32_t lit = boards.lit[board]; lit != 0; lit &= lit - 1) {
        const std::uint32_t row = lowest_one(lit);
        const std::uint32_t number_of_input =
            l2::waveforms_per_board * number + row / rows_per_channel;
        if (number_of_input >= t.inputs.size()) return;
        const input_entry& input = t.inputs[number_of_input];
        if (input.kind != input_kind::veto || input.index / 2 >= t.modules.size()) continue;
        const std::uint32_t pulse = l2::waveforms_per_board * board + row;
        const std::int32_t energy = input.energy_of(seen.sum[pulse]);
        if (energy <= 0) continue;
        const std::uint32_t at = fetch_add_within(b, &s.found, 1);
        if (at >= max_pulses) continue; // still counted in s.found
        s.pulses.keys[at] = end_pulse{energy, input.time_of(seen.time[pulse]), input.index}.key();
      }
    });
  }

  /// Finds the hits of the module whose pulses begin at `first`; there are at most as many hits as
  /// pulses.
  L3_FN static void match_module(const selection_tables& t, shared& s, std::uint32_t first,
                                 std::uint32_t n) {
    const auto pulse = [&](std::uint32_t i) { return end_pulse::of(s.pulses.keys[i]); };
    const std::uint32_t module = module_at(s, first);
    std::uint32_t middle = first;
    while (middle < n && pulse(middle).index == 2 * module) ++middle;
    std::uint32_t last = middle;
    while (last < n && pulse(last).index == 2 * module + 1) ++last;

    const module_ends ends(t, module);
    std::uint32_t up = first;
    std::uint32_t down = middle;
    std::uint32_t place = first;
    while (up < middle && down < last) {
      const std::int32_t difference = pulse(up).time - pulse(down).time;
      if (ends.match(difference)) {
        s.pulses.other[place++] = pulses_of_hit(up++, down++);
      } else if (difference <= 0) {
        s.pulses.other[place++] = pulses_of_hit(up++, no_pulse);
      } else {
        s.pulses.other[place++] = pulses_of_hit(no_pulse, down++);
      }
    }
    while (up < middle) s.pulses.other[place++] = pulses_of_hit(up++, no_pulse);
    while (down < last) s.pulses.other[place++] = pulses_of_hit(no_pulse, down++);
    while (place < last) s.pulses.other[place++] = no_hit;
  }

  /// Counts the hits before each word, and all hits.
  template <block B>
  L3_FN static void count_hits(const B& b, shared& s, std::uint32_t n, std::uint32_t* found) {
    const std::uint32_t used_words = (n + word_bits - 1) / word_bits;
    for_each(b, used_words, [&](std::uint32_t w) {
      const std::uint32_t left = n - w * word_bits;
      const std::uint32_t bits = left < word_bits ? left : word_bits;
      std::uint32_t used = 0;
      for (std::uint32_t i = 0; i < bits; ++i)
        used |= (s.pulses.other[w * word_bits + i] != no_hit ? 1U : 0U) << i;
      s.used[w] = used;
    });
    b.sync();
    for_each(b, 1, [&](std::uint32_t) {
      std::uint32_t all = 0;
      for (std::uint32_t w = 0; w < used_words; ++w) {
        s.before[w] = all;
        all += ones(s.used[w]);
      }
      *found = all;
    });
    b.sync();
  }

  [[nodiscard]] L3_FN static std::uint32_t place_of(const shared& s, std::uint32_t i) {
    const std::uint32_t lower = s.used[i / word_bits] & ((1U << i % word_bits) - 1);
    return s.before[i / word_bits] + ones(lower);
  }

  [[nodiscard]] L3_FN static hits::columns::value hit_of(const selection_tables& t, const shared& s,
                                                         std::uint32_t i) {
    const auto up = static_cast<std::uint32_t>(s.pulses.other[i]);
    const auto down = static_cast<std::uint32_t>(s.pulses.other[i] >> 32);
    const end_pulse first = end_pulse::of(s.pulses.keys[up != no_pulse ? up : down]);
    const module_ends ends(t, first.module());
    if (up == no_pulse || down == no_pulse) return ends.single(first);
    return ends.pair(first, end_pulse::of(s.pulses.keys[down]));
  }
};

} // namespace l3
