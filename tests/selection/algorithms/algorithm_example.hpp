// SPDX-License-Identifier: Apache-2.0
// The code that docs/adding-an-algorithm.md shows: the page quotes the code between "// show NAME"
// and
// "// end", and a test compares the two. A program that includes this header names the executors on
// which it tests the example.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/bits.hpp"
#include "selection/algorithms/rounding.hpp"
#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"
#include "tests/gpu/executors/on_executor.hpp"
#include "tests/selection/algorithms/made_calorimeter.hpp"

namespace l3::test {

// show slot
/// Light in the calorimeter before that of the event, a row for each event.
struct early_light {
  static constexpr std::string_view name = "early_light";
  template <template <class> class column>
  struct fields {
    column<std::int32_t> energy;    ///< keV
    column<std::uint16_t> crystals; ///< those with such light
  };
  using columns = soa<fields>;
  static std::uint32_t rows(const batch_capacity& c) { return c.events; }
};
// end

// show head
struct count_early_crystals {
  static constexpr std::string_view name = "count_early_crystals";
  static constexpr blocks_for run_for = blocks_for::event;
  using reads = slot_list<pulses, board_signals>;
  using writes = slot_list<early_light>;

  static constexpr std::uint32_t width = 64; // on a device
  struct shared {
    std::uint64_t energy;
    std::uint32_t crystals;
  };
  // end

  // show kernel
  template <block B>
  L3_FN void operator()(const B& b, shared& s, const selection_frame& frame,
                        const pulses::columns::const_view& pulse,
                        const board_signals::columns::const_view& signal,
                        const early_light::columns::view& out) const {
    for_each(b, 1, [&](std::uint32_t) { s = {0, 0}; });
    b.sync(); // no lane adds before the sums are zero
    const event_entry& event = frame.batch.events[b.index()];
    for_each(b, event.boards,
             [&](std::uint32_t k) { look_at(b, s, frame, event.first_board + k, pulse, signal); });
    b.sync(); // all lanes have added
    for_each(b, 1, [&](std::uint32_t) {
      out[b.index()] = {.energy = limited(static_cast<std::int64_t>(s.energy)),
                        .crystals = static_cast<std::uint16_t>(s.crystals)};
    });
  }
  // end

  // show promise
  /// Returns the promise that the output breaks, or nullptr.
  static const char* broken_promise(const selection_frame& frame,
                                    const pulses::columns::const_view&,
                                    const board_signals::columns::const_view&,
                                    const early_light::columns::const_view& out) {
    for (std::uint32_t e = 0; e < frame.batch.events.size(); ++e) {
      const early_light::columns::value row = out[e];
      if (row.crystals > l2::waveforms_per_board * frame.batch.events[e].boards)
        return "more early crystals than inputs";
      if (row.energy < row.crystals) return "an early crystal without energy";
      if (row.crystals == 0 && row.energy != 0) return "early energy without a crystal";
    }
    return nullptr;
  }
  // end

private:
  template <block B>
  L3_FN static void look_at(const B& b, shared& s, const selection_frame& frame,
                            std::uint32_t board, const pulses::columns::const_view& pulse,
                            const board_signals::columns::const_view& signal) {
    const std::uint32_t number = signal.number[board];
    if (number == board_signals::unread) return;
    if (frame.batch.boards[board].kind != board_kind::sampling_125_mhz) return;
    for (std::uint32_t lit = signal.lit[board]; lit != 0; lit &= lit - 1) {
      const std::uint32_t row = lowest_one(lit);
      const input_entry& input = frame.tables.inputs[l2::waveforms_per_board * number + row];
      const auto one = pulse[l2::waveforms_per_board * board + row];
      if (input.kind != input_kind::crystal || !is_early(frame.tables.constants, input, one))
        continue;
      add_within(b, &s.energy, static_cast<std::uint64_t>(input.energy_of(one.sum)));
      static_cast<void>(fetch_add_within(b, &s.crystals, 1));
    }
  }

  [[nodiscard]] L3_FN static bool is_early(const selection_constants& cut, const input_entry& input,
                                           const pulses::columns::value& one) {
    if ((one.flags & pulse_no_edge) != 0) return false; // its time is unknown
    const std::int32_t energy = input.energy_of(one.sum);
    return energy > 0 && energy >= cut.crystal_threshold &&
           input.time_of(one.time) < cut.crystal_from;
  }
};

/// The output for an event.
struct early_result {
  std::int32_t energy = 0;
  std::uint32_t crystals = 0;

  friend bool operator==(const early_result&, const early_result&) = default;
};

/// The same in the plainest code.
inline early_result textbook_early_light(const pulse_event& event, const made_calorimeter& c) {
  std::int64_t energy = 0;
  early_result result;
  for (const pulse_board& board : event) {
    for (std::uint32_t row = 0; row < l2::waveforms_per_board; ++row) {
      const bool lit = (board.lit >> row & 1) != 0;
      if (!lit || board.number == board_signals::unread) continue;
      const input_entry& input = c.inputs[l2::waveforms_per_board * board.number + row];
      const std::int32_t its_energy = input.energy_of(board.sum[row]);
      const bool is_crystal = input.kind == input_kind::crystal &&
                              board.kind == board_kind::sampling_125_mhz &&
                              (board.flags[row] & pulse_no_edge) == 0;
      const bool early = input.time_of(board.time[row]) < c.constants.crystal_from;
      if (!is_crystal || !early || its_energy < c.constants.crystal_threshold) continue;
      energy += its_energy;
      ++result.crystals;
    }
  }
  result.energy = static_cast<std::int32_t>(std::min<std::int64_t>(energy, INT32_MAX));
  return result;
}

template <class Queue>
std::vector<early_result> run_count_early_crystals(Queue& queue,
                                                   const made_calorimeter& calorimeter,
                                                   const std::vector<pulse_event>& events) {
  const auto n = static_cast<std::uint32_t>(events.size());
  const made_pulses<Queue> made(queue, events);
  const slot_rows<early_light, Queue> found(queue, n); // poisoned
  lender<Queue> lent(queue);
  const selection_frame frame{made.there(), lent.lend(calorimeter.tables()), {}};
  queue.run(count_early_crystals{}, n, frame, pulses::columns::const_view(made.rows().there()),
            board_signals::columns::const_view(made.signals().there()), found.there());
  found.fetch();
  const selection_frame here{made.host(), calorimeter.tables(), {}};
  const char* const broken = count_early_crystals::broken_promise(
      here, made.rows().host(), made.signals().host(), found.host());
  EXPECT_STREQ(broken == nullptr ? "" : broken, "");
  std::vector<early_result> results;
  for (std::uint32_t e = 0; e < n; ++e) {
    const auto row = found.host()[e];
    results.push_back({row.energy, row.crystals});
  }
  return results;
}

template <class Executor>
class early_crystals : public on_executor<Executor> {};
TYPED_TEST_SUITE_P(early_crystals);

/// Draws up to as many pulses as a dense event has, at any time, some too low or without an edge,
/// on boards of all kinds.
inline pulse_event draw_early_event(const made_calorimeter& calorimeter, randomness& r) {
  constexpr std::uint32_t few = 30;
  constexpr std::uint32_t many = 3000;
  pulse_event event;
  const auto boards = calorimeter.boards() + made_calorimeter::veto_boards;
  for (std::uint32_t k = below(r, below(r, 10) == 0 ? many : few); k > 0; --k) {
    const std::uint32_t row = below(r, l2::waveforms_per_board);
    pulse_board& board = add_pulse(event, static_cast<std::uint16_t>(below(r, boards)), row,
                                   static_cast<std::int32_t>(below(r, 1U << 16)),
                                   static_cast<std::uint16_t>(below(r, 1U << 14)));
    if (below(r, 20) == 0) board.flags[row] |= pulse_no_edge;
    if (below(r, 200) == 0) board.kind = board_kind::sampling_500_mhz;
  }
  add_pulse(event, board_signals::unread, 3, 1 << 16, 0);
  return event;
}

TYPED_TEST_P(early_crystals, are_those_of_the_textbook) {
  made_calorimeter calorimeter;
  randomness r(1);
  calorimeter.draw(r); // gains and times
  std::vector<pulse_event> events;
  for (int k = 0; k < 200; ++k) events.push_back(draw_early_event(calorimeter, r));
  auto queue = TypeParam::make();
  const auto found = run_count_early_crystals(queue, calorimeter, events);
  std::uint32_t crystals = 0;
  for (std::size_t e = 0; e < events.size(); ++e) {
    EXPECT_EQ(found[e], textbook_early_light(events[e], calorimeter)) << "event " << e;
    crystals += found[e].crystals;
  }
  EXPECT_GT(crystals, 1000U) << "or this says little";
}

TYPED_TEST_P(early_crystals, are_above_threshold_and_before_the_window) {
  made_calorimeter calorimeter; // the threshold is 3000 keV, the window begins at −2000
  for (input_entry& input : calorimeter.inputs) input.time = 4000;
  const auto crystal = [](std::int32_t energy, std::uint16_t time) {
    pulse_event event;
    light(event, 0, 10000, 1000); // in time
    light(event, 1, energy, time);
    return event;
  };
  pulse_event twice_too_much;
  light(twice_too_much, 0, INT32_MAX, 0);
  light(twice_too_much, 1, INT32_MAX, 0);
  auto queue = TypeParam::make();
  const auto found = run_count_early_crystals(
      queue, calorimeter,
      {crystal(3000, 499), crystal(3000, 500), crystal(2999, 499), twice_too_much, {}});
  const std::vector<early_result> expected{{3000, 1}, {0, 0}, {0, 0}, {INT32_MAX, 2}, {0, 0}};
  EXPECT_EQ(found, expected);
}

REGISTER_TYPED_TEST_SUITE_P(early_crystals, are_those_of_the_textbook,
                            are_above_threshold_and_before_the_window);

} // namespace l3::test
