// SPDX-License-Identifier: Apache-2.0
// Makes events with every irregularity of the input, computes them, and compares the output of a
// frame with the oracle.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "selection/engine/engine.hpp"
#include "selection/packing/frame_columns.hpp"
#include "tests/selection/engine/oracle.hpp"

namespace l3::test {

/// An event with both kinds of boards and every N; some events have headers and footers that are
/// not predicted, wrong tags, opaque boards of any length, or raw, empty and missing fragments.
inline made_event make_event(std::uint32_t number, std::uint32_t fragments, std::uint32_t boards,
                             randomness& r) {
  made_event e;
  e.spill = below(r, 512);
  e.number = number;
  e.reference_time = below(r, 1U << 28);
  for (std::uint32_t crate = 0; crate < fragments; ++crate) {
    if (below(r, 8) == 0) {
      e.flags |= event_incomplete;
      continue;
    }
    if (below(r, 6) == 0) {
      e.fragments.push_back(make_raw_fragment(static_cast<std::uint8_t>(crate), below(r, 5000), r));
      continue;
    }
    std::vector<made_board> made;
    const auto kind =
        below(r, 2) == 0 ? board_kind::sampling_125_mhz : board_kind::sampling_500_mhz;
    for (std::uint32_t k = 0; k < below(r, boards + 1); ++k) {
      const auto slot = static_cast<std::uint8_t>(l2::first_slot + k);
      if (below(r, 8) == 0) {
        made.push_back(make_opaque_board(slot, below(r, 8) == 0 ? 1036 : 6 + below(r, 1070), r));
        continue;
      }
      made_board b = make_board(kind, slot, e.spill, number, e.reference_time, make_records(r));
      const auto spoil = [&](std::uint32_t first_word, std::uint32_t words, std::uint32_t mask) {
        std::byte* const at = b.packet.data() + std::size_t{2} * (first_word + below(r, words));
        store_big(at, static_cast<std::uint16_t>(load_big<std::uint16_t>(at) ^ mask));
      };
      switch (below(r, 10)) {
      case 0: spoil(0, 6, 1U << below(r, 14)); break;       // another header
      case 1: spoil(1030, 6, 1U << below(r, 12)); break;    // another footer
      case 2: spoil(0, 6, 1U << (14 + below(r, 2))); break; // wrong tags
      case 3: spoil(6, 1024, 1U << (14 + below(r, 2))); break;
      case 4: spoil(1030, 6, 1U << (12 + below(r, 4))); break;
      case 5: b.packet.resize(2 * below(r, 1036)); break;
      default: break;
      }
      made.push_back(std::move(b));
    }
    e.fragments.push_back(make_fragment(static_cast<std::uint8_t>(crate), number, std::move(made)));
  }
  return e;
}

inline std::vector<made_event> make_events(std::uint32_t n, std::uint32_t fragments,
                                           std::uint32_t boards, std::uint64_t seed) {
  randomness r(seed);
  std::vector<made_event> events;
  for (std::uint32_t k = 0; k < n; ++k)
    events.push_back(make_event(1 + k * 997, fragments, boards, r));
  return events;
}

inline void fill(frame& f, const std::vector<made_event>& events, std::uint32_t piece_bytes,
                 randomness& r) {
  f.input.clear();
  std::fill(f.input.bytes.begin(), f.input.bytes.end(), std::byte{0x77});
  std::fill(f.output_memory.begin(), f.output_memory.end(), std::byte{0xa5});
  for (const made_event& e : events) add_event(f.input, e, piece_bytes, r);
}

inline bool all(const made_event&) { return true; }

/// Expects the output of the oracle for the kept events, by this codec.
inline void expect_output(const frame& f, const std::vector<made_event>& events,
                          const std::function<bool(const made_event&)>& kept = all,
                          codec_id codec = codec_id::koto) {
  ASSERT_EQ(f.results.size(), events.size());
  std::size_t at = 0;
  for (std::size_t k = 0; k < events.size(); ++k) {
    const event_result& result = f.results[k];
    std::size_t original = 0;
    for (const made_fragment& x : events[k].fragments) original += x.content.size();
    ASSERT_EQ(result.original_bytes, original);
    ASSERT_EQ(result.kept != 0, kept(events[k]));
    if (result.kept == 0) {
      ASSERT_EQ(result.bytes, 0U);
      continue;
    }
    const bytes expected = expect_event(events[k], codec);
    ASSERT_GE(result.offset, at);
    at = result.offset;
    ASSERT_EQ(result.bytes, expected.size());
    ASSERT_LE(at + expected.size(), f.output.size());
    const bytes found(f.output.begin() + static_cast<std::ptrdiff_t>(at),
                      f.output.begin() + static_cast<std::ptrdiff_t>(at + expected.size()));
    const auto differs =
        std::mismatch(found.begin(), found.end(), expected.begin()).first - found.begin();
    ASSERT_EQ(found, expected) << "event " << k << ", byte " << differs << " of "
                               << expected.size();
    ASSERT_EQ(result.flags, load<std::uint16_t>(found.data() + 12));
    std::uint32_t damaged = 0;
    std::uint32_t opaque = 0;
    for (const made_fragment& x : events[k].fragments)
      for (const made_board& b : x.boards)
        (b.opaque ? opaque : damaged) += textbook_decode(b).sound ? 0 : 1;
    ASSERT_EQ(result.boards_damaged, damaged);
    ASSERT_EQ(result.boards_opaque, opaque);

    at += expected.size();
  }
}

/// Computes the events on a frame of an engine, and expects the output of the oracle.
inline void compute(engine& e, frame& f, const std::vector<made_event>& events,
                    std::uint32_t piece_bytes, randomness& r,
                    const std::function<bool(const made_event&)>& kept = all,
                    codec_id codec = codec_id::koto) {
  fill(f, events, piece_bytes, r);
  e.start(f);
  ASSERT_TRUE(e.wait(f)) << f.error;
  expect_output(f, events, kept, codec);
}

/// A decision for tests that want events rejected.
struct keep_odd_numbers {
  static constexpr std::uint32_t width = 32;
  struct shared {};
  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& out) const {
    for_each(b, 1, [&](std::uint32_t) {
      out.events.accepted[b.index()] = static_cast<std::uint8_t>(in.events[b.index()].number % 2);
    });
  }
};
inline bool odd(const made_event& e) { return e.number % 2 == 1; }

} // namespace l3::test
