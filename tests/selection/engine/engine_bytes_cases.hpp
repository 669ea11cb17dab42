// SPDX-License-Identifier: Apache-2.0
// The cases of engines that pack: on every executor they must give the bytes of the oracle, for
// every width, batch and size of pieces. A program that includes this header names the engines it
// tests.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/selection/engine/make_events.hpp"

namespace l3::test {

struct tested_engine {
  std::string name;
  std::function<std::unique_ptr<engine>(const engine_limits&)> keeping_all;
  std::function<std::unique_ptr<engine>(const engine_limits&)> keeping_odd; ///< keep_odd_numbers
  std::function<std::string()> why_not = [] { return std::string(); };
  bool slow = false; ///< tests use only a few boards
  codec_id codec = codec_id::koto;

  /// The same engines, made with other limits.
  template <class Change>
  [[nodiscard]] tested_engine with(const std::string& suffix, Change change) const {
    tested_engine other = *this;
    other.name += suffix;
    for (auto* const make : {&other.keeping_all, &other.keeping_odd}) {
      *make = [inner = *make, change](engine_limits limits) {
        change(limits);
        return inner(limits);
      };
    }
    return other;
  }
};

/// Each engine with the strong codec.
inline std::vector<tested_engine> by_strong_codec(const std::vector<tested_engine>& engines) {
  std::vector<tested_engine> all;
  for (const tested_engine& e : engines) {
    all.push_back(
        e.with("_strong", [](engine_limits& limits) { limits.codec = codec_id::strong; }));
    all.back().codec = codec_id::strong;
  }
  return all;
}

inline std::ostream& operator<<(std::ostream& to, const tested_engine& e) { return to << e.name; }

class engine_bytes : public testing::TestWithParam<tested_engine> {
protected:
  void SetUp() override {
    if (const std::string why_not = GetParam().why_not(); !why_not.empty()) GTEST_SKIP() << why_not;
  }
};

/// Cases for plans that decide.
class engine_decision : public engine_bytes {};

TEST_P(engine_bytes, packs_any_event_in_any_pieces) {
  const std::uint32_t boards = GetParam().slow ? 3 : 16;
  randomness r(7);
  for (const std::uint32_t piece_bytes : {0U, 8000U, 1400U, 64U, 4U}) {
    const auto events = make_events(GetParam().slow ? 2 : 6, 6, boards, piece_bytes + 1);
    const auto e = GetParam().keeping_all({capacity_for(events, piece_bytes), 1});
    ASSERT_NO_FATAL_FAILURE(
        compute(*e, *e->frames()[0], events, piece_bytes, r, all, GetParam().codec))
        << "pieces of " << piece_bytes;
  }
}

TEST_P(engine_bytes, does_not_depend_on_the_batch) {
  const auto events = make_events(GetParam().slow ? 3 : 40, 3, GetParam().slow ? 2 : 5, 11);
  const auto e = GetParam().keeping_all({capacity_for(events, 1400), 2});
  randomness r(8);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{17}, events.size()}) {
    for (std::size_t first = 0; first < events.size(); first += size) {
      const std::vector<made_event> batch(
          events.begin() + static_cast<std::ptrdiff_t>(first),
          events.begin() + static_cast<std::ptrdiff_t>(std::min(first + size, events.size())));
      frame& f = *e->frames()[first / size % 2];
      ASSERT_NO_FATAL_FAILURE(compute(*e, f, batch, 1400, r, all, GetParam().codec))
          << "batches of " << size;
    }
  }
}

TEST_P(engine_bytes, may_have_nothing_to_do) {
  const std::vector<made_event> empty{{5, 9, event_incomplete, 77, {}}};
  const auto e = GetParam().keeping_all({capacity_for(empty, 0), 1});
  randomness r(1);
  for (const auto& events : {std::vector<made_event>{}, empty})
    compute(*e, *e->frames()[0], events, 0, r, all, GetParam().codec);
}

TEST_P(engine_decision, gives_rejected_events_no_room) {
  auto events = make_events(GetParam().slow ? 4 : 20, 3, 2, 5);
  for (std::size_t k = 0; k < events.size(); ++k)
    events[k].number = static_cast<std::uint32_t>(1 + k * k % 7);
  for (made_event& e : events) {
    for (made_fragment& f : e.fragments) {
      if (!f.raw) store_big(f.content.data(), l2::fragment_header(e.number));
    }
  }
  const auto e = GetParam().keeping_odd({capacity_for(events, 0), 1});
  randomness r(1);
  compute(*e, *e->frames()[0], events, 0, r, odd, GetParam().codec);
}

TEST_P(engine_bytes, packs_boards_of_each_n) {
  // Boards of one N each, and boards of any N up to a largest one. Devices have a shorter way for
  // boards of which no record has an N above 7.
  const std::uint32_t most_bits = 14;
  const std::uint32_t step = GetParam().slow ? 7 : 1;
  randomness r(6);
  std::vector<made_event> events;
  for (const auto kind : {board_kind::sampling_125_mhz, board_kind::sampling_500_mhz}) {
    for (const bool is_mixed : {false, true}) {
      const auto number = static_cast<std::uint32_t>(events.size() + 1);
      std::vector<made_board> boards;
      for (std::uint32_t most = 0; most <= most_bits; most += step) {
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
  for (const std::uint32_t piece_bytes : {0U, 1400U}) {
    const auto e = GetParam().keeping_all({capacity_for(events, piece_bytes), 1});
    ASSERT_NO_FATAL_FAILURE(
        compute(*e, *e->frames()[0], events, piece_bytes, r, all, GetParam().codec))
        << "pieces of " << piece_bytes;
  }
}

TEST_P(engine_bytes, packs_many_short_events) {
  randomness r(2);
  std::vector<made_event> events;
  for (std::uint32_t n = 1; n <= (GetParam().slow ? 20U : 400U); ++n) {
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
  const auto e = GetParam().keeping_all({capacity_for(events, 0), 1});
  compute(*e, *e->frames()[0], events, 0, r, all, GetParam().codec);
}

TEST_P(engine_bytes, fits_the_worst_case) {
  // Header and footer words are not predicted, and every record has 14 bits of noise: the longest
  // board data.
  randomness r(1);
  std::vector<made_board> boards;
  for (std::uint8_t k = 0; k < 3; ++k) {
    boards.push_back(make_board(board_kind::sampling_500_mhz, 3 + k, 1, 2, 4, make_records(r, 14)));
    boards.back().packet[1] ^= std::byte{1};
    boards.back().packet[2071] ^= std::byte{1};
  }
  const made_event event{1, 2, 0, 3, {make_fragment(0, 2, boards), make_raw_fragment(1, 4001, r)}};
  const std::vector<made_event> events(3, event);
  const auto e = GetParam().keeping_all({capacity_for(events, 0), 1});
  compute(*e, *e->frames()[0], events, 0, r, all, GetParam().codec);
}

TEST_P(engine_bytes, reads_nothing_beyond_a_fragment) {
  // Tables that contradict the fragment, which no host should write: the engine cuts the board off
  // where the fragment ends.
  randomness r(1);
  const auto board = make_board(board_kind::sampling_125_mhz, 3, 1, 2, 3, make_records(r));
  const std::vector<made_event> events{{1, 2, 0, 3, {make_fragment(0, 2, {board})}}};
  const auto e = GetParam().keeping_all({capacity_for(events, 0), 1});
  frame& f = *e->frames()[0];
  for (const std::uint16_t offset : {100, 2079, 2080, 4000, 0xfff0}) {
    fill(f, events, 0, r);
    f.input.boards[0].offset = offset;
    e->start(f);
    ASSERT_TRUE(e->wait(f)) << f.error;
    const std::uint32_t left = offset < 2080 ? 2080U - offset : 0;
    const std::byte* const entry = f.output.data() + sizeof(packed_event) + sizeof(packed_fragment);
    const auto entry_read = load<packed_board>(entry);
    EXPECT_EQ(entry_read.form, board_raw);
    EXPECT_EQ(entry_read.bytes, left);
    EXPECT_EQ(f.results[0].boards_damaged, 1U);
    EXPECT_TRUE(std::equal(f.output.begin() + 48, f.output.begin() + 48 + left,
                           events[0].fragments[0].content.end() - left));
  }
}

} // namespace l3::test
