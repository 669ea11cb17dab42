// SPDX-License-Identifier: Apache-2.0
// find_clusters: one block per event finds the event's own time, and joins neighbouring crystals
// (selection/trigger/cut_tables.hpp) that are above threshold and near that time to clusters. A
// cluster is a sum of energies and energy-weighted means.
//
// The event's time is the energy-weighted mean over the 32 ns with the most energy, searched in
// steps of 4 ns in a wide window around the trigger's time.
//
// The result does not depend on the order of boards, rows or lanes: the lowest crystal of a cluster
// identifies it (disjoint_sets.hpp), counting bits numbers these crystals (ranked_bits.hpp), and
// all sums are integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gpu/columns/load.hpp"
#include "gpu/executors/atomics.hpp"
#include "gpu/executors/bits.hpp"
#include "gpu/executors/block.hpp"
#include "gpu/executors/solo.hpp"
#include "selection/algorithms/disjoint_sets.hpp"
#include "selection/algorithms/ranked_bits.hpp"
#include "selection/algorithms/rounding.hpp"
#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"

namespace l3 {

struct find_clusters {
  static constexpr std::string_view name = "find_clusters";
  static constexpr blocks_for run_for = blocks_for::event;
  using reads = slot_list<pulses, board_signals>;
  using writes = slot_list<clusters, calorimeter>;

  static constexpr std::uint32_t width = 256; // on a device

  /// Shared memory has room for this many crystals; the start refuses tables with more.
  static constexpr std::uint32_t max_crystals = 2816;
  static constexpr std::uint32_t max_clusters = clusters::max_clusters;

  static constexpr std::int32_t time_step = 4 * 128; ///< 1/128 ns
  static constexpr std::uint32_t time_steps = 64;    ///< in the widest window for events
  static constexpr std::uint32_t steps_together = 8; ///< that contain an event's energy

  /// Energy and time of a crystal in one word: the energy in the upper half, the time in the lower,
  /// shifted so that greater is later; 0 for no energy. If an event has a crystal twice, which no
  /// valid channel map allows, the greatest word counts: the higher energy, then the later time.
  class cell {
  public:
    L3_FN static std::uint64_t of(std::int32_t energy, std::int32_t time) {
      return std::uint64_t{static_cast<std::uint32_t>(energy)} << half |
             (static_cast<std::uint32_t>(time) ^ sign);
    }
    L3_FN static std::int32_t energy(std::uint64_t c) {
      return static_cast<std::int32_t>(c >> half);
    }
    L3_FN static std::int32_t time(std::uint64_t c) {
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(c) ^ sign);
    }

  private:
    static constexpr std::uint32_t half = 32;
    static constexpr std::uint32_t sign = 1U << 31;
  };

  /// The sums over a cluster, modulo 2⁶⁴; time, x and y are energy-weighted.
  enum sum : std::uint8_t { sum_energy, sum_time, sum_x, sum_y, sum_crystals, sums_of_cluster };

  /// The sums over the crystals of a time step. Time is energy-weighted, relative to the first
  /// step.
  enum step_sum : std::uint8_t { step_energy, step_time, sums_of_step };

  struct shared {
    std::uint64_t cells[max_crystals]; // of the crystals in `crystal`
    std::uint64_t steps[time_steps][sums_of_step];
    std::int32_t time;       // time of the event
    std::uint64_t energy[1]; // sum over all crystals
    std::uint64_t sums[max_clusters][sums_of_cluster];
    disjoint_sets<max_crystals> sets;    // of crystals in time
    ranked_bits<max_crystals> roots;     // the lowest crystals of clusters
    std::uint32_t repeated;              // not 0: some crystal occurs more than once
    std::uint32_t seen;                  // number of crystals that may be in time
    std::uint32_t crystals;              // of these, the number of those in time
    std::uint16_t crystal[max_crystals]; // the crystals that may be in time, in any order
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const selection_frame& frame,
                        const pulses::columns::const_view& pulse,
                        const board_signals::columns::const_view& signal,
                        const clusters::columns::view& cluster,
                        const calorimeter::columns::view& all) const {
    find(b, s, frame, pulse, signal, cluster, all, [&] {
      hang(b, s, frame.tables);
      b.sync();
      flatten(b, s);
      b.sync();
      join(b, s, frame.tables);
    });
  }

  /// Returns the promise that the output breaks; nullptr if it keeps all.
  static const char* broken_promise(const selection_frame& frame,
                                    const pulses::columns::const_view&,
                                    const board_signals::columns::const_view&,
                                    const clusters::columns::const_view& cluster,
                                    const calorimeter::columns::const_view& all) {
    for (std::uint32_t e = 0; e < frame.batch.events.size(); ++e) {
      const auto whole = all[e];
      if (whole.crystals > crystals_of(frame.tables)) return "more crystals than there are";
      if (whole.energy < 0) return "a calorimeter of negative energy";
      if (whole.time != 0 && !may_be_event(frame.tables.constants, whole.time))
        return "an event's time is outside of the window for events";
      if (2U * whole.clusters > whole.crystals) return "more clusters than pairs of crystals";
      std::uint32_t crystals = 0;
      for (std::uint32_t k = 0; k < stored(whole.clusters); ++k) {
        const auto one = cluster[max_clusters * e + k];
        if (one.crystals < 2) return "a cluster of one crystal";
        if (one.energy <= 0 || one.energy > whole.energy)
          return "a cluster's energy is not part of the whole";
        if (!is_in_time(frame.tables.constants, one.time, whole.time))
          return "a cluster is out of time";
        crystals += one.crystals;
      }
      if (crystals > whole.crystals) return "a crystal in two clusters";
    }
    return nullptr;
  }

  /// The number of found clusters that have rows.
  [[nodiscard]] L3_FN static std::uint32_t stored(std::uint32_t found) {
    return found < max_clusters ? found : max_clusters;
  }

  /// Whether a crystal at `time` belongs to an event at `event_time`.
  [[nodiscard]] L3_FN static bool is_in_time(const selection_constants& cut, std::int32_t time,
                                             std::int32_t event_time) {
    const std::int64_t since = std::int64_t{time} - event_time;
    return since >= cut.crystal_from && since <= cut.crystal_to;
  }

protected:
  /// `unite` joins the sets of neighbouring crystals in time; before it, each crystal is a set.
  template <block B, class Unite>
  L3_FN static void find(const B& b, shared& s, const selection_frame& frame,
                         const pulses::columns::const_view& pulse,
                         const board_signals::columns::const_view& signal,
                         const clusters::columns::view& cluster,
                         const calorimeter::columns::view& all, Unite&& unite) {
    const selection_tables& tables = frame.tables;
    const std::uint32_t n = crystals_of(tables);
    clear(b, s);
    b.sync();
    collect(b, s, frame, n, pulse, signal);
    b.sync();
    if (s.repeated != 0) {
      take_highest(b, s, frame, n, pulse, signal);
      b.sync();
    }
    add_to_steps(b, s, tables.constants);
    b.sync();
    for_each(b, 1, [&](std::uint32_t) { s.time = time_of(s, tables.constants); });
    b.sync();
    leave_out(b, s, tables.constants);
    b.sync();
    unite();
    b.sync();
    find_roots(b, s);
    b.sync();
    s.roots.rank(b);
    b.sync();
    sum_up(b, s, tables);
    b.sync();
    write(b, s, cluster, all);
  }

  template <block B>
  L3_FN static void add_to_steps(const B& b, shared& s, const selection_constants& cut) {
    for_each(b, s.seen, [&](std::uint32_t i) {
      const std::uint64_t c = s.cells[s.crystal[i]];
      if (!may_be_event(cut, cell::time(c))) return;
      const auto since = static_cast<std::uint32_t>(cell::time(c) - cut.event_from);
      const std::uint32_t k = since / static_cast<std::uint32_t>(time_step);
      if (k >= time_steps) return;
      const auto energy = static_cast<std::uint64_t>(cell::energy(c));
      add_together_within(b, s.steps[k], {energy, energy * since});
    });
  }

  /// The event's time: of several steps with the same energy, the first.
  [[nodiscard]] L3_FN static std::int32_t time_of(const shared& s, const selection_constants& cut) {
    std::uint64_t energy = 0; // sum over the last steps
    std::uint64_t time = 0;
    std::uint64_t best_energy = 0;
    std::uint64_t best_time = 0;
    for (std::uint32_t k = 0; k < time_steps; ++k) {
      energy += s.steps[k][step_energy];
      time += s.steps[k][step_time];
      if (k >= steps_together) {
        energy -= s.steps[k - steps_together][step_energy];
        time -= s.steps[k - steps_together][step_time];
      }
      if (energy <= best_energy) continue;
      best_energy = energy;
      best_time = time;
    }
    if (best_energy == 0) return 0;
    return cut.event_from + static_cast<std::int32_t>(best_time / best_energy);
  }

  [[nodiscard]] L3_FN static std::uint32_t crystals_of(const selection_tables& tables) {
    const std::uint32_t n = tables.crystals.size();
    if (n == 0) return 0;
    return n - 1 < max_crystals ? n - 1 : max_crystals;
  }

  template <block B>
  L3_FN static void clear(const B& b, shared& s) {
    s.sets.clear(b);
    s.roots.clear(b);
    for_each(b, max_clusters, [&](std::uint32_t k) {
      for (std::uint64_t& sum : s.sums[k]) sum = 0;
    });
    for_each(b, time_steps, [&](std::uint32_t k) {
      for (std::uint64_t& sum : s.steps[k]) sum = 0;
    });
    for_each(b, 1, [&](std::uint32_t) {
      s.repeated = 0;
      s.seen = 0;
      s.crystals = 0;
      s.energy[0] = 0;
    });
  }

  [[nodiscard]] L3_FN static bool may_be_event(const selection_constants& cut, std::int32_t time) {
    return time >= cut.event_from && time <= cut.event_to;
  }
  /// Whether a crystal at `time` is in time for any event, or contributes to an event's time.
  [[nodiscard]] L3_FN static bool may_be_in_time(const selection_constants& cut,
                                                 std::int32_t time) {
    if (may_be_event(cut, time)) return true;
    return time >= std::int64_t{cut.event_from < 0 ? cut.event_from : 0} + cut.crystal_from &&
           time <= std::int64_t{cut.event_to > 0 ? cut.event_to : 0} + cut.crystal_to;
  }

  /// Calls f(crystal, cell) for every crystal above threshold that may be in time.
  template <block B, class F>
  L3_FN static void for_each_crystal(const B& b, const selection_frame& frame, std::uint32_t n,
                                     const pulses::columns::const_view& pulse,
                                     const board_signals::columns::const_view& signal, F&& f) {
    const event_entry& event = frame.batch.events[b.index()];
    const selection_constants& cut = frame.tables.constants;
    for_each(b, event.boards, [&](std::uint32_t k) {
      const std::uint32_t board = event.first_board + k;
      std::uint32_t lit = signal.lit[board];
      const std::uint32_t number = signal.number[board];
      // 500 MHz boards have no crystals, and their rows are not channels.
      if (lit == 0 || number == board_signals::unread ||
          frame.batch.boards[board].kind != board_kind::sampling_125_mhz)
        return;
      // All loads of some rows come before the first branch, so that a device waits for them once:
      // nearly all lit rows are crystals, and lit rows of a board often come together.
      constexpr std::uint32_t together = std::is_same_v<B, solo_block> ? 1 : 4;
      while (lit != 0) {
        input_entry input[together];
        std::int32_t sum[together];
        std::uint16_t when[together];
        std::uint32_t rest = lit;
        for (std::uint32_t j = 0; j < together; ++j) {
          const std::uint32_t row = lowest_one(rest != 0 ? rest : lit);
          const std::uint32_t at = l2::waveforms_per_board * board + row;
          input[j] = load_constant(&frame.tables.inputs[l2::waveforms_per_board * number + row]);
          sum[j] = pulse.sum[at];
          when[j] = pulse.time[at];
          rest &= rest - 1;
        }
        const auto take = [&](std::size_t j) {
          if (lit == 0) return;
          lit &= lit - 1;
          const std::int32_t energy = input[j].energy_of(sum[j]);
          const std::int32_t time = input[j].time_of(when[j]);
          if (input[j].kind != input_kind::crystal || input[j].index >= n) return;
          // Means are weighted by energy, so a crystal without energy contributes nothing, even if
          // it passes the threshold.
          if (energy < cut.crystal_threshold || energy <= 0) return;
          if (may_be_in_time(cut, time)) f(input[j].index, cell::of(energy, time));
        };
        // No loop: with one, some compilers keep the arrays in memory.
        [&]<std::size_t... j>(std::index_sequence<j...>) { (take(j), ...); }
        (std::make_index_sequence<together>());
      }
    });
  }

  /// Lists every crystal above threshold that may be in time, and writes its cell.
  template <block B>
  L3_FN static void collect(const B& b, shared& s, const selection_frame& frame, std::uint32_t n,
                            const pulses::columns::const_view& pulse,
                            const board_signals::columns::const_view& signal) {
    for_each_crystal(b, frame, n, pulse, signal, [&](std::uint16_t crystal, std::uint64_t c) {
      if (s.sets.insert(b, crystal)) {
        s.cells[crystal] = c;
        s.crystal[fetch_add_within(b, &s.seen, 1)] = crystal;
      } else {
        set_bits_within(b, &s.repeated, 1);
      }
    });
  }

  /// Gives each repeated crystal the greatest of its cells.
  template <block B>
  L3_FN static void take_highest(const B& b, shared& s, const selection_frame& frame,
                                 std::uint32_t n, const pulses::columns::const_view& pulse,
                                 const board_signals::columns::const_view& signal) {
    for_each_crystal(b, frame, n, pulse, signal, [&](std::uint16_t crystal, std::uint64_t c) {
      fetch_max_within(b, &s.cells[crystal], c);
    });
  }

  /// Removes crystals out of time, and counts the others.
  template <block B>
  L3_FN static void leave_out(const B& b, shared& s, const selection_constants& cut) {
    for_each(b, s.seen, [&](std::uint32_t i) {
      const std::uint32_t crystal = s.crystal[i];
      if (is_in_time(cut, cell::time(s.cells[crystal]), s.time)) {
        static_cast<void>(fetch_add_within(b, &s.crystals, 1));
      } else {
        s.sets.remove(crystal);
      }
    });
  }

  /// Whether f(neighbour) is true for any of a crystal's neighbours with lower numbers. It visits
  /// them in rising order, four at a time (the last one repeatedly, to fill up), so that a device
  /// waits for four loads at once. It stops after four with a true one.
  template <class F>
  [[nodiscard]] L3_FN static bool any_neighbour(const selection_tables& tables,
                                                std::uint32_t crystal, F&& f) {
    constexpr std::uint32_t together = 4;
    const std::uint32_t end = tables.crystals[crystal + 1].first_neighbour;
    bool found = false;
    for (std::uint32_t k = tables.crystals[crystal].first_neighbour; k < end && !found;
         k += together) {
      std::uint32_t neighbour[together];
      for (std::uint32_t j = 0; j < together; ++j)
        neighbour[j] = tables.neighbours[k + j < end ? k + j : end - 1];
      for (const std::uint32_t n : neighbour) found = f(n) || found;
    }
    return found;
  }

  /// Attaches every crystal to its lowest neighbour in time. Each lane attaches its own crystals,
  /// so most of a cluster becomes one tree before lanes unite trees with one another.
  template <block B>
  L3_FN static void hang(const B& b, shared& s, const selection_tables& tables) {
    for_each(b, s.seen, [&](std::uint32_t i) {
      const std::uint32_t crystal = s.crystal[i];
      if (s.sets.above(b, crystal) == s.sets.nowhere) return;
      std::uint32_t lowest = s.sets.nowhere;
      const bool found = any_neighbour(tables, crystal, [&](std::uint32_t neighbour) {
        const bool is_in_time = s.sets.above(b, neighbour) != s.sets.nowhere;
        lowest = is_in_time && neighbour < lowest ? neighbour : lowest;
        return is_in_time;
      });
      if (found) s.sets.hang(b, crystal, lowest);
    });
  }

  template <block B>
  L3_FN static void flatten(const B& b, shared& s) {
    for_each(b, s.seen, [&](std::uint32_t i) { s.sets.flatten(b, s.crystal[i]); });
  }

  /// Unites the trees of neighbours that are still different.
  template <block B>
  L3_FN static void join(const B& b, shared& s, const selection_tables& tables) {
    for_each(b, s.seen, [&](std::uint32_t i) {
      const std::uint32_t crystal = s.crystal[i];
      const std::uint32_t root = s.sets.above(b, crystal);
      if (root == s.sets.nowhere) return;
      const bool differ = any_neighbour(tables, crystal, [&](std::uint32_t neighbour) {
        const std::uint32_t other = s.sets.above(b, neighbour);
        return other != root && other != s.sets.nowhere;
      });
      if (!differ) return;
      const std::uint32_t end = tables.crystals[crystal + 1].first_neighbour;
      for (std::uint32_t k = tables.crystals[crystal].first_neighbour; k < end; ++k) {
        const std::uint32_t neighbour = tables.neighbours[k];
        if (s.sets.above(b, neighbour) != s.sets.nowhere) s.sets.unite(b, crystal, neighbour);
      }
    });
  }

  /// Points every crystal at its root, and marks the roots of two or more crystals.
  template <block B>
  L3_FN static void find_roots(const B& b, shared& s) {
    for_each(b, s.seen, [&](std::uint32_t i) {
      const std::uint32_t crystal = s.crystal[i];
      const std::uint32_t root = s.sets.flatten(b, crystal);
      if (root != crystal && root != s.sets.nowhere) s.roots.insert(b, root);
    });
  }

  template <block B>
  L3_FN static void sum_up(const B& b, shared& s, const selection_tables& tables) {
    for_each(b, s.seen, [&](std::uint32_t i) {
      const std::uint32_t crystal = s.crystal[i];
      const std::uint32_t root = s.sets.parent[crystal];
      if (root == s.sets.nowhere) return;
      const std::int64_t energy = cell::energy(s.cells[crystal]);
      add_together_within(b, s.energy, {static_cast<std::uint64_t>(energy)});
      if (!s.roots.contains(root)) return; // a crystal without neighbours
      const std::uint32_t k = s.roots.rank_of(root);
      if (k >= max_clusters) return;
      const auto weighted = [&](std::int64_t x) { // modulo 2⁶⁴, because times may be implausible
        return static_cast<std::uint64_t>(energy) * static_cast<std::uint64_t>(x);
      };
      const crystal_entry& place = tables.crystals[crystal];
      add_together_within(b, s.sums[k],
                          {static_cast<std::uint64_t>(energy),
                           weighted(cell::time(s.cells[crystal])), weighted(place.x),
                           weighted(place.y), 1});
    });
  }

  template <block B>
  L3_FN static void write(const B& b, const shared& s, const clusters::columns::view& cluster,
                          const calorimeter::columns::view& all) {
    const std::uint32_t found = s.roots.size();
    for_each(b, stored(found), [&](std::uint32_t k) {
      const std::uint64_t(&sum)[sums_of_cluster] = s.sums[k];
      const auto energy = static_cast<std::int64_t>(sum[sum_energy]);
      const auto mean = [&](std::uint64_t weighted) {
        return divide_down(static_cast<std::int64_t>(weighted), energy);
      };
      const std::uint32_t row = max_clusters * b.index() + k;
      cluster.energy[row] = limited(energy);
      cluster.time[row] = limited(mean(sum[sum_time]));
      cluster.x[row] = static_cast<std::int16_t>(mean(sum[sum_x]));
      cluster.y[row] = static_cast<std::int16_t>(mean(sum[sum_y]));
      cluster.crystals[row] = static_cast<std::uint16_t>(sum[sum_crystals]);
    });
    for_each(b, 1, [&](std::uint32_t) {
      all.energy[b.index()] = limited(static_cast<std::int64_t>(s.energy[0]));
      all.time[b.index()] = s.time;
      all.crystals[b.index()] = static_cast<std::uint16_t>(s.crystals);
      all.clusters[b.index()] = static_cast<std::uint16_t>(found);
    });
  }
};
static_assert(sizeof(find_clusters::shared) <= 48 * 1024, "the shared memory of a CUDA block");

} // namespace l3
