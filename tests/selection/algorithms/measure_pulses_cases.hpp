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
#include "selection/packing/find_packets.hpp"
#include "tests/gpu/decode/decode_memory.hpp"
#include "tests/gpu/executors/on_executor.hpp"
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
    std::vector<lent_memory<Queue>> lent;
    selection_frame there{batch.there(), tables.view(), {}};
    if constexpr (Queue::memory::has_device) {
      const auto lend = [&](auto& column) {
        const std::size_t n = column.size() * sizeof column[0];
        lent.emplace_back(queue, n).write(column.data(), n);
        column = {reinterpret_cast<decltype(column.data())>(lent.back().bytes().data()),
                  column.size()};
      };
      lend(there.tables.first_board);
      lend(there.tables.inputs);
    }
    std::size_t used = 0;
    const auto take = [&](region from, selection_frame& f) {
      f.packing = frame_columns::take(from, c, from.take<event_result>(c.events));
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
    find_packets_first(queue, there.batch, there.packing);
    queue.run(measure_boards{}, c.boards, there.batch, there.packing);
    memory.read(expected_packing_.data());
    memory.write(memory_.data(), memory_.size());
    find_packets_first(queue, there.batch, there.packing);
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
      if (below(r, 8) == 0) continue;
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

TYPED_TEST_P(measuring_pulses, finds_none_on_quiet_boards) {
  typename TestFixture::tally seen;
  randomness r(5);
  made_tables tables(1, 1, r);
  tables.first_board = {0, 2};
  input_entry deaf;
  deaf.least_height = 1000;
  tables.inputs.assign(32, deaf);
  for (const auto kind : {board_kind::sampling_125_mhz, board_kind::sampling_500_mhz}) {
    std::vector<made_board> boards;
    for (std::uint8_t slot = 3; slot < 5; ++slot)
      boards.push_back(make_board(kind, slot, 1, 2, 3, make_records(r, 4)));
    ASSERT_NO_FATAL_FAILURE(this->expect_textbook(
        {{1, 2, 0, 3, {make_fragment(0, 2, std::move(boards))}}}, tables, 0, r, seen));
  }
  EXPECT_EQ(seen.lit + seen.unread, 0U);
}

TYPED_TEST_P(measuring_pulses, says_where_pulses_are_and_what_is_wrong_with_them) {
  auto queue = TypeParam::make();
  randomness r(3);
  made_tables tables(1, 1, r);
  tables.first_board = {0, 2};
  tables.inputs.assign(32, {});
  for (input_entry& input : tables.inputs) {
    input.kind = input_kind::veto;
    input.least_height = 40;
  }
  tables.inputs[4].kind = input_kind::none;
  const auto slow = [](std::vector<std::pair<double, double>> times_and_heights) {
    std::vector<std::uint16_t> w;
    for (int k = 0; k < 64; ++k) {
      double s = 500;
      for (const auto& [time, height] : times_and_heights) s += height * slow_shape(8 * k - time);
      w.push_back(static_cast<std::uint16_t>(std::min(s, 16383.0)));
    }
    return w;
  };
  std::vector<std::uint16_t> records;
  const auto add = [&](const std::vector<std::uint16_t>& w) {
    records.insert(records.end(), w.begin(), w.end());
  };
  add(slow({{204, 1000}}));
  add(slow({}));
  add(slow({{204, 39}}));
  add(slow({{204, 1000}, {400, 500}}));
  add(slow({{204, 1000}}));
  add(slow({{80, 1000}})); // the tail reaches into the time window
  add(slow({{204, 60000}}));
  add(slow({{204, 16000}})); // so high that the tails exceed the threshold far away
  while (records.size() < 1024) records.push_back(500);

  std::vector<std::uint16_t> fast(1024, 300);
  for (std::size_t k = 0; k < 10; ++k) fast[25 * k + 10] = 700; // channel 0
  fast[256 + 150] = 700;
  fast[256 + 151] = 510;
  fast[256 + 152] = 540; // on the tail, less than 40 above the lowest sample before
  fast[256 + 153] = 480;
  fast[256 + 154] = 520;
  const std::vector<made_event> events{
      {1,
       2,
       0,
       3,
       {make_fragment(0, 2, {make_board(board_kind::sampling_125_mhz, 3, 1, 2, 3, records)})}},
      {1,
       2,
       0,
       3,
       {make_fragment(0, 2, {make_board(board_kind::sampling_500_mhz, 4, 1, 2, 3, fast)})}}};
  const lent_batch batch(queue, events, 0, r);
  const measured_batch found(queue, batch, tables);

  const pulse first = found.rows[0];
  EXPECT_EQ(first.pedestal, 2000);
  EXPECT_NEAR(first.peak, 1500, 15);
  EXPECT_NEAR(first.peak_sample, 25.5, 0.5);
  EXPECT_NEAR(first.time / 256.0, (204 - 30) / 8.0, 0.2);
  EXPECT_EQ(first.flags, pulse_found);
  EXPECT_EQ(describe(found.rows[1]), describe({2000, 500, 0, pulse_flat, 0, 0}));
  EXPECT_EQ(found.rows[2].flags, 0);
  EXPECT_EQ(found.rows[3].flags, pulse_found | pulse_second);
  EXPECT_EQ(found.rows[4].flags, pulse_found);
  EXPECT_EQ(found.rows[5].flags, pulse_second);
  EXPECT_EQ(found.rows[6].flags & pulse_saturated, pulse_saturated);
  EXPECT_EQ(found.rows[7].flags, pulse_found);
  EXPECT_EQ(found.signals.lit[0], 0b1100'1001);

  const std::uint8_t kept[] = {60, 85, 110, 135};
  for (std::uint32_t j = 0; j < 4; ++j) {
    EXPECT_EQ(describe(found.rows[16 + j]),
              describe({1200, 700, kept[j], pulse_found | pulse_second,
                        static_cast<std::uint16_t>(256 * kept[j] - 128), 1600}));
  }
  EXPECT_EQ(found.rows[20].peak_sample, 150);
  EXPECT_EQ(found.rows[21].peak_sample, 154);
  EXPECT_EQ(found.rows[21].time, 256 * 153 + 128);
  EXPECT_EQ(found.rows[22].flags, 0);
  EXPECT_EQ(found.signals.lit[1], 0b0011'1111);
}

TYPED_TEST_P(measuring_pulses, does_not_take_a_slow_baseline_for_energy) {
  auto queue = TypeParam::make();
  randomness r(6);
  made_tables tables(1, 1, r);
  tables.first_board = {0, 2};
  tables.inputs.assign(32, {});
  for (input_entry& input : tables.inputs) {
    input.kind = input_kind::veto;
    input.least_height = 40;
  }
  std::vector<std::uint16_t> slow;
  const auto add = [&](auto&& baseline, double height) {
    for (int k = 0; k < 64; ++k)
      slow.push_back(static_cast<std::uint16_t>(
          baseline(k) + static_cast<int>(height * slow_shape(8.0 * k - 200))));
  };
  const auto rising = [](int k) { return 500 + 3 * std::min(k, 30); }; // up to 80 over its first
  add([](int) { return 500; }, 1000);
  add([](int k) { return 800 - 3 * k; }, 1000);
  add([](int k) { return 300 + 2 * k; }, 1000);
  add(rising, 0);
  add(rising, 60);
  while (slow.size() < 1024) slow.push_back(500);
  std::vector<std::uint16_t> fast(1024, 300);
  for (std::size_t k = 0; k < 256; ++k)
    fast[k] = static_cast<std::uint16_t>(300 + std::min<std::size_t>(k, 150));
  for (std::size_t k = 0; k < 256; ++k) fast[256 + k] = static_cast<std::uint16_t>(330 - k / 16);
  fast[256 + 100] = 434;
  const std::vector<made_event> events{
      {1,
       2,
       0,
       3,
       {make_fragment(0, 2, {make_board(board_kind::sampling_125_mhz, 3, 1, 2, 3, slow)})}},
      {1,
       2,
       0,
       3,
       {make_fragment(0, 2, {make_board(board_kind::sampling_500_mhz, 4, 1, 2, 3, fast)})}}};
  const lent_batch batch(queue, events, 0, r);
  const measured_batch found(queue, batch, tables);
  EXPECT_NEAR(found.rows[0].sum, 4 * 10.8 * 1000, 4 * 10.8 * 30);
  EXPECT_EQ(found.rows[1].sum, found.rows[0].sum);
  EXPECT_EQ(found.rows[2].sum, found.rows[0].sum);
  EXPECT_NEAR(found.rows[1].time, found.rows[0].time, 40); // 1.25 ns
  EXPECT_NEAR(found.rows[2].time, found.rows[0].time, 40);
  EXPECT_EQ(describe(found.rows[3]), describe({2042, 590, 0, pulse_second, 0, 0}));
  EXPECT_EQ(found.rows[4].flags, pulse_found | pulse_second);
  EXPECT_EQ(found.signals.lit[0], 0b1'0111);
  EXPECT_EQ(found.rows[16].flags, 0);
  EXPECT_EQ(found.rows[16].sum, 0);
  EXPECT_EQ(found.rows[20].peak_sample, 100);
  EXPECT_NEAR(found.rows[20].sum, 4 * 110, 4 * 10);
  EXPECT_EQ(found.signals.lit[1], 0b1'0000);
}

TYPED_TEST_P(measuring_pulses, knows_a_broken_promise) {
  auto queue = TypeParam::make();
  randomness r(4);
  made_tables tables(1, 1, r);
  for (input_entry& input : tables.inputs) input = {0, 0, 20, 0, input_kind::crystal, 2, 0};
  const std::vector<made_event> events{
      {1,
       2,
       0,
       3,
       {make_fragment(0, 2,
                      {make_board(board_kind::sampling_125_mhz, 3, 1, 2, 3,
                                  std::vector<std::uint16_t>(1024, 400)),
                       make_opaque_board(4, 50, r)})}}};
  const lent_batch batch(queue, events, 0, r);
  const auto breaks = [&](auto&& spoil) {
    const measured_batch found(queue, batch, tables);
    EXPECT_EQ(found.broken_promise(), nullptr);
    spoil(found);
    return found.broken_promise() != nullptr;
  };
  EXPECT_FALSE(breaks([](const measured_batch&) {}));
  EXPECT_TRUE(breaks([](const measured_batch& m) { m.signals.number[0] = 1; }));
  EXPECT_TRUE(breaks([](const measured_batch& m) { m.signals.lit[0] = 4; }));
  EXPECT_TRUE(breaks([](const measured_batch& m) { m.signals.lit[1] = 1; }));
  EXPECT_TRUE(breaks([](const measured_batch& m) { m.signals.trigger[1] = 1; }));
  EXPECT_TRUE(breaks([](const measured_batch& m) { m.rows.sum[3] = 1; }));
  EXPECT_TRUE(breaks([](const measured_batch& m) { m.rows.time[3] = 1; }));
  const pulse good{1600, 500, 20, pulse_found, 256 * 17, 100};
  EXPECT_FALSE(breaks([&](const measured_batch& m) { m.rows[5] = good; }));
  EXPECT_TRUE(breaks([&](const measured_batch& m) {
    m.rows[5] = good;
    m.rows.time[5] = 256 * 20 + 1;
  }));
  EXPECT_TRUE(breaks([&](const measured_batch& m) {
    m.rows[5] = good;
    m.rows.peak[5] = 399;
  }));
  EXPECT_TRUE(breaks([&](const measured_batch& m) {
    m.rows[5] = good;
    m.rows.flags[5] = pulse_found | pulse_no_edge;
  }));
}

REGISTER_TYPED_TEST_SUITE_P(measuring_pulses, finds_those_of_the_textbook,
                            takes_any_event_in_any_pieces, finds_none_on_quiet_boards,
                            says_where_pulses_are_and_what_is_wrong_with_them,
                            does_not_take_a_slow_baseline_for_energy, knows_a_broken_promise);

} // namespace l3::test
