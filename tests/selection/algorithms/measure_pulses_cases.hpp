// SPDX-License-Identifier: Apache-2.0
// The cases of measure_pulses. On every executor it must find the pulses of the textbook, and for
// packing the findings of measure_boards. A program that includes this header names the executors
// it tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "selection/algorithms/measure_pulses.hpp"
#include "selection/packing/find_boards.hpp"
#include "tests/gpu/executors/on_executor.hpp"
#include "tests/selection/algorithms/made_pulses.hpp"
#include "tests/selection/algorithms/pulses_textbook.hpp"
#include "tests/selection/engine/make_events.hpp"

namespace l3::test {

/// The tables of a readout with some of the boards, and inputs of every kind and threshold.
struct made_tables {
  std::vector<std::uint16_t> first_board{0};
  std::vector<input_entry> inputs;

  made_tables(std::uint32_t crates, std::uint32_t boards, randomness& r) {
    for (std::uint32_t c = 0; c < crates; ++c)
      first_board.push_back(static_cast<std::uint16_t>(first_board.back() + 1 + below(r, boards)));
    inputs.resize(std::size_t{16} * first_board.back());
    constexpr std::uint16_t heights[] = {0, 1, 5, 12, 30, 30, 100, 1000, 0x3fff, 0xffff};
    for (input_entry& input : inputs) {
      input.kind = static_cast<input_kind>(below(r, 3));
      input.least_height = heights[below(r, 10)];
    }
  }

  [[nodiscard]] selection_tables view() const {
    selection_tables t;
    t.first_board = {first_board.data(), static_cast<std::uint32_t>(first_board.size())};
    t.inputs = {inputs.data(), static_cast<std::uint32_t>(inputs.size())};
    return t;
  }

  [[nodiscard]] std::uint16_t number_of(std::uint32_t crate, int slot) const {
    if (crate + 1 >= first_board.size()) return board_signals::unread;
    const int number = first_board[crate] + slot - 3;
    const bool there = number >= first_board[crate] && number < first_board[crate + 1];
    return there ? static_cast<std::uint16_t>(number) : board_signals::unread;
  }
};

/// A batch after measure_pulses, in memory that was poisoned before.
class measured_batch {
public:
  template <class Queue>
  measured_batch(Queue& queue, const lent_batch<Queue>& batch, const made_tables& tables) {
    const batch_view& host = batch.host();
    const batch_capacity c{host.events.size(), host.fragments.size(), host.pieces.size(),
                           host.boards.size(), 0};
    lender<Queue> lent(queue);
    selection_frame there{batch.there(), lent.lend(tables.view()), {}};
    std::size_t used = 0;
    const auto take = [&](region from, selection_frame& f) {
      f.packing =
          frame_columns::take(from, c, from.take<event_result>(c.events), codec_id::koto, false);
      packing_bytes_ = from.used();
      rows = pulses::columns::take(from, pulses::rows(c));
      signals = board_signals::columns::take(from, board_signals::rows(c));
      used = from.used();
    };
    take(region(), there);
    lent_memory<Queue> memory(queue, used);
    memory_.assign(memory.bytes().size(), std::byte{0xa5});
    expected_packing_ = memory_;
    memory.write(memory_.data(), memory_.size());
    take(region(memory.bytes()), there);
    find_boards_first(queue, there.batch, there.packing);
    queue.run(measure_boards{}, c.boards, there.batch, there.packing);
    memory.read(expected_packing_.data());
    memory.write(memory_.data(), memory_.size());
    find_boards_first(queue, there.batch, there.packing);
    queue.run(measure_pulses{}, c.boards, there, rows, signals);
    memory.read(memory_.data());
    frame = {host, tables.view(), {}};
    take(region(buffer(memory_.data(), memory_.size(), [](std::byte*, std::size_t) {})), frame);
  }
  measured_batch(const measured_batch&) = delete;
  measured_batch& operator=(const measured_batch&) = delete;

  [[nodiscard]] bool packs_like_measure_boards() const {
    return std::equal(memory_.begin(),
                      memory_.begin() + static_cast<std::ptrdiff_t>(packing_bytes_),
                      expected_packing_.begin());
  }

  [[nodiscard]] const char* broken_promise() const {
    return measure_pulses::broken_promise(frame, rows, signals);
  }

  selection_frame frame; ///< on the host
  pulses::columns::view rows;
  board_signals::columns::view signals;

private:
  std::size_t packing_bytes_ = 0;
  bytes memory_;
  bytes expected_packing_;
};

inline std::string describe(const pulse& p) {
  return "pedestal " + std::to_string(p.pedestal) + " peak " + std::to_string(p.peak) + " at " +
         std::to_string(p.peak_sample) + " flags " + std::to_string(p.flags) + " time " +
         std::to_string(p.time) + " sum " + std::to_string(p.sum);
}

template <class Executor>
class measuring_pulses : public on_executor<Executor> {
protected:
  /// Counts of unread boards, lit rows and flags, so that a test can demand that all occur.
  struct tally {
    std::uint32_t unread = 0;
    std::uint32_t lit = 0;
    std::uint32_t flags[8] = {};
  };

  static void expect_textbook(const std::vector<made_event>& events, const made_tables& tables,
                              std::uint32_t piece_bytes, randomness& r, tally& s) {
    auto queue = Executor::make();
    const lent_batch batch(queue, events, piece_bytes, r);
    const measured_batch found(queue, batch, tables);
    ASSERT_TRUE(found.packs_like_measure_boards());
    ASSERT_EQ(found.broken_promise(), nullptr);
    std::uint32_t i = 0;
    for (const made_event& e : events) {
      for (const made_fragment& f : e.fragments) {
        for (const made_board& b : f.boards) {
          const std::uint16_t number = tables.number_of(f.crate, b.slot);
          const auto expected = textbook_pulses(
              b, number, number == board_signals::unread ? nullptr : &tables.inputs[16U * number]);
          for (std::uint32_t row = 0; row < 16; ++row) {
            const pulse p = found.rows[16 * i + row];
            ASSERT_TRUE(p == expected.rows[row])
                << "board " << i << (b.kind == board_kind::sampling_125_mhz ? " slow" : " fast")
                << ", row " << row << "\n  found    " << describe(p) << "\n  expected "
                << describe(expected.rows[row]);
            for (std::uint32_t bit = 0; bit < 8; ++bit) s.flags[bit] += p.flags >> bit & 1U;
          }
          ASSERT_EQ(found.signals.number[i], expected.number) << "board " << i;
          ASSERT_EQ(found.signals.lit[i], expected.lit) << "board " << i;
          ASSERT_EQ(found.signals.trigger[i], expected.trigger) << "board " << i;
          s.unread += expected.number == board_signals::unread ? 1 : 0;
          s.lit += expected.lit != 0 ? 1 : 0;
          ++i;
        }
      }
    }
  }
};
TYPED_TEST_SUITE_P(measuring_pulses);

inline made_event make_pulse_event(std::uint32_t number, std::uint32_t crates, std::uint32_t slots,
                                   randomness& r) {
  made_event e{below(r, 512), number, 0, below(r, 1U << 28), {}};
  for (std::uint32_t crate = 0; crate < crates; ++crate) {
    const auto kind = crate % 2 == 0 ? board_kind::sampling_125_mhz : board_kind::sampling_500_mhz;
    std::vector<made_board> boards;
    // From before the first slot to behind the last.
    for (std::uint32_t slot = 2; slot < 2 + slots; ++slot) {
      if (below(r, 8) == 0 || boards.size() == l2::max_boards) continue;
      const auto records = below(r, 6) == 0   ? make_extreme_records(r)
                           : below(r, 6) == 0 ? make_records(r)
                                              : make_pulses(kind, 1 + below(r, 10), r);
      boards.push_back(make_board(kind, static_cast<std::uint8_t>(slot), e.spill, number,
                                  e.reference_time, records));
      if (below(r, 3) == 0) // level-1 bits
        store_big(boards.back().packet.data(),
                  static_cast<std::uint16_t>(0xc000 | below(r, 0x4000)));
    }
    e.fragments.push_back(
        make_fragment(static_cast<std::uint8_t>(crate), number, std::move(boards)));
  }
  return e;
}

TYPED_TEST_P(measuring_pulses, finds_those_of_the_textbook) {
  typename TestFixture::tally seen;
  randomness r(1);
  for (int again = 0; again < (TypeParam::slow ? 3 : 30); ++again) {
    const std::uint32_t slots = TypeParam::slow ? 3 : 18;
    const std::vector<made_event> events{make_pulse_event(1, 3, slots, r),
                                         make_pulse_event(2, 4, slots, r)};
    const made_tables tables(3, slots, r);
    ASSERT_NO_FATAL_FAILURE(this->expect_textbook(events, tables, 0, r, seen));
  }
  EXPECT_GT(seen.unread, 0U);
  EXPECT_GT(seen.lit, 0U);
  for (std::uint32_t bit = 0; bit < 5; ++bit) EXPECT_GT(seen.flags[bit], 0U) << bit;
}

TYPED_TEST_P(measuring_pulses, takes_any_event_in_any_pieces) {
  typename TestFixture::tally seen;
  randomness r(2);
  for (const std::uint32_t piece_bytes : {0U, 8000U, 1400U, 4U}) {
    const auto events = TypeParam::slow ? make_events(2, 4, 3, piece_bytes + 1)
                                        : make_events(9, 6, 16, piece_bytes + 1);
    const made_tables tables(5, 16, r);
    ASSERT_NO_FATAL_FAILURE(this->expect_textbook(events, tables, piece_bytes, r, seen));
  }
  EXPECT_GT(seen.unread, 0U);
}

REGISTER_TYPED_TEST_SUITE_P(measuring_pulses, finds_those_of_the_textbook,
                            takes_any_event_in_any_pieces);

} // namespace l3::test
