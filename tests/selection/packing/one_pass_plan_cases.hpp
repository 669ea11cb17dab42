// SPDX-License-Identifier: Apache-2.0
// The cases of one_pass_plan. On every executor it must give the bytes and results of
// two_pass_plan, and both must give the bytes of the oracle. A program that includes this header
// names the executors it tests.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "selection/engine/frame_parts.hpp"
#include "selection/packing/one_pass_plan.hpp"
#include "tests/gpu/decode/decode_memory.hpp"
#include "tests/gpu/executors/on_executor.hpp"
#include "tests/selection/engine/make_events.hpp"

namespace l3::test {

/// Packs a batch by a plan, in poisoned memory.
template <class Plan>
class packed_batch {
public:
  template <class Queue>
  packed_batch(Queue& queue, const lent_batch<Queue>& batch, std::size_t capacity) {
    const batch_view& host = batch.host();
    const batch_capacity c{host.events.size(), host.fragments.size(), host.pieces.size(),
                           host.boards.size(), 0};
    struct parts {
      parts(region from, const batch_capacity& c, std::size_t room) {
        summary = from.take<frame_summary>(1);
        results = from.take<event_result>(c.events);
        columns = Plan::columns::take(from, c, results);
        output = from.take<std::byte>(static_cast<std::uint32_t>(room + guard));
        bytes = from.used();
      }
      column<frame_summary> summary;
      column<event_result> results;
      typename Plan::columns columns;
      column<std::byte> output;
      std::size_t bytes;
    };
    lent_memory<Queue> memory(queue, parts(region(), c, capacity).bytes);
    bytes_.assign(memory.bytes().size(), poison);
    memory.write(bytes_.data(), bytes_.size());
    const parts p(region(memory.bytes()), c, capacity);
    const output_view out{p.output.data(), capacity};
    Plan::run(queue, batch.there(), p.columns, out, p.summary.data());
    memory.read(bytes_.data());
    const parts here(region(buffer(bytes_.data(), bytes_.size(), [](std::byte*, std::size_t) {})),
                     c, capacity);
    results.assign(here.results.data(), here.results.data() + c.events);
    const std::size_t used = c.events == 0 ? 0 : here.summary[0].output_bytes;
    output.assign(here.output.data(), here.output.data() + used);
    for (std::size_t i = 0; i < guard; ++i)
      touched_beyond = touched_beyond || here.output.data()[capacity + i] != poison;
  }

  std::vector<event_result> results;
  bytes output;
  bool touched_beyond = false;

private:
  static constexpr std::byte poison{0xa5};
  static constexpr std::size_t guard = 4096;

  bytes bytes_;
};

using packed_twice = packed_batch<two_pass_plan<keep_all>>;
using packed_once = packed_batch<one_pass_plan>;

inline void expect_same(const std::vector<event_result>& found,
                        const std::vector<event_result>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    const event_result& x = found[k];
    const event_result& y = expected[k];
    ASSERT_TRUE(x.offset == y.offset && x.bytes == y.bytes &&
                x.original_bytes == y.original_bytes && x.flags == y.flags &&
                x.boards_damaged == y.boards_damaged && x.boards_opaque == y.boards_opaque &&
                x.kept == y.kept && x.no_room == y.no_room)
        << "event " << k;
  }
}

template <class Executor>
class both_forms : public on_executor<Executor> {
protected:
  static constexpr bool slow = Executor::slow;

  static bytes oracle(const std::vector<made_event>& events) {
    bytes all;
    for (const made_event& e : events) {
      const bytes one = expect_event(e);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  static void expect_equal(const std::vector<made_event>& events, std::uint32_t piece_bytes) {
    auto queue = Executor::make();
    randomness r(1);
    const lent_batch batch(queue, events, piece_bytes, r);
    const bytes expected = oracle(events);
    const packed_twice twice(queue, batch, expected.size());
    const packed_once once(queue, batch, expected.size());
    ASSERT_EQ(twice.output, expected);
    ASSERT_EQ(once.output, expected);
    expect_same(once.results, twice.results);
    ASSERT_FALSE(twice.touched_beyond || once.touched_beyond);
  }
};
TYPED_TEST_SUITE_P(both_forms);

TYPED_TEST_P(both_forms, packs_any_event_in_any_pieces) {
  for (const std::uint32_t piece_bytes : {0U, 8000U, 1400U, 4U}) {
    const auto events =
        this->slow ? make_events(2, 4, 3, piece_bytes + 1) : make_events(6, 6, 16, piece_bytes + 1);
    ASSERT_NO_FATAL_FAILURE(this->expect_equal(events, piece_bytes)) << piece_bytes;
  }
}

TYPED_TEST_P(both_forms, finds_places_however_many_fragments_are_before) {
  // More fragments than the window of look_back, most of them short; some events have none.
  this->expect_equal({}, 0);
  randomness r(2);
  std::vector<made_event> events;
  for (std::uint32_t n = 1; n <= (this->slow ? 20U : 400U); ++n) {
    events.push_back({1, n, 0, 0, {}});
    if (n % 5 == 0) continue;
    std::vector<made_fragment>& fragments = events.back().fragments;
    fragments.push_back(make_raw_fragment(0, below(r, 30), r));
    if (n % 3 == 0) {
      fragments.push_back(
          make_fragment(1, n,
                        {make_board(board_kind::sampling_500_mhz, 3, 1, n, 0, make_records(r)),
                         make_opaque_board(5, below(r, 40), r),
                         make_board(board_kind::sampling_500_mhz, 6, 1, n, 1, make_records(r))}));
    }
    if (n % 7 == 0) fragments.push_back(make_fragment(2, n, {}));
  }
  for (int again = 0; again < (this->slow ? 1 : 3); ++again) {
    ASSERT_NO_FATAL_FAILURE(this->expect_equal(events, 0));
  }
}

TYPED_TEST_P(both_forms, packs_boards_of_each_n) {
  // Boards of one N each, and boards of any N up to a largest one. Devices have a shorter way for
  // boards of which no record has an N above 7.
  constexpr std::uint32_t most_bits = 14;
  randomness r(6);
  for (const std::uint32_t piece_bytes : {0U, 1400U}) {
    std::vector<made_event> events;
    for (const auto kind : {board_kind::sampling_125_mhz, board_kind::sampling_500_mhz}) {
      for (const bool is_mixed : {false, true}) {
        const auto number = static_cast<std::uint32_t>(events.size() + 1);
        std::vector<made_board> boards;
        for (std::uint32_t most = 0; most <= most_bits; ++most) {
          std::vector<std::uint16_t> samples;
          for (std::uint32_t c = 0; c < packet_lanes; ++c) {
            const auto w = make_waveform(is_mixed ? below(r, most + 1) : most, l2::payload_mask, r);
            samples.insert(samples.end(), w.begin(), w.end());
          }
          boards.push_back(
              make_board(kind, static_cast<std::uint8_t>(3 + most), 1, number, 4, samples));
        }
        events.push_back({1, number, 0, 4, {make_fragment(0, number, std::move(boards))}});
      }
    }
    ASSERT_NO_FATAL_FAILURE(this->expect_equal(events, piece_bytes)) << piece_bytes;
  }
}

TYPED_TEST_P(both_forms, says_what_has_no_room_and_writes_nothing_there) {
  auto queue = TypeParam::make();
  randomness r(4);
  const auto events = make_events(this->slow ? 3 : 6, 3, 3, 17);
  const lent_batch batch(queue, events, 1400, r);
  const std::size_t all = this->oracle(events).size();
  for (std::size_t capacity = 0; capacity <= all;
       capacity += 8 + all / (this->slow ? 4 : 40) / 8 * 8) {
    const packed_twice twice(queue, batch, capacity);
    const packed_once once(queue, batch, capacity);
    expect_same(once.results, twice.results);
    ASSERT_EQ(once.output, twice.output) << capacity;
    ASSERT_FALSE(twice.touched_beyond || once.touched_beyond) << capacity;
  }
}

REGISTER_TYPED_TEST_SUITE_P(both_forms, packs_any_event_in_any_pieces,
                            finds_places_however_many_fragments_are_before, packs_boards_of_each_n,
                            says_what_has_no_room_and_writes_nothing_there);

} // namespace l3::test
