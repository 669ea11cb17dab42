// SPDX-License-Identifier: Apache-2.0
// What chunks say by themselves: an event ends in the same way, with the same tables and marks,
// whether its fragments are walked or follow from the summaries of their chunks.
#include "transport/building/arrived_chunk.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "tests/transport/building/level2.hpp"
#include "transport/building/admission.hpp"

namespace l3::test {
namespace {

constexpr event_key key{300, 20000}; // a ninth bit, and a number beyond 14 bits
constexpr crate_readout crate{7, 16, board_kind::sampling_125_mhz};

bytes full_fragment(std::uint32_t boards, event_key k = key) {
  std::vector<board_recipe> all;
  for (std::uint32_t b = 0; b < boards; ++b) all.push_back({3 + b, 77 + b, {}, 0});
  return make_fragment(k, all);
}

chunk_summary summary_of(std::span<const std::byte> chunk, std::uint32_t offset,
                         std::uint32_t event_number, bool is_last) {
  chunk_summary s;
  s.slots = 0xffff; // of a chunk before: summarize() has to overwrite it
  summarize(chunk, offset, event_number, is_last, s);
  return s;
}

/// Its chunks lie in memory in reverse order, so that none is beside its neighbours.
struct cut_fragment {
  cut_fragment(const bytes& fragment, std::uint32_t chunk_bytes)
      : size(static_cast<std::uint32_t>(fragment.size())),
        memory(round_up(fragment.size(), chunk_bytes)) {
    for (std::uint32_t at = 0; at < size; at += chunk_bytes) {
      const auto n = std::min(chunk_bytes, size - at);
      pieces.push_back(static_cast<piece_offset>(memory.size() - chunk_bytes - at));
      std::copy_n(fragment.begin() + at, n, memory.begin() + pieces.back());
      const auto s =
          summary_of({memory.data() + pieces.back(), n}, at, key.number, n < chunk_bytes);
      slots.push_back(s.slots);
      sums.add(s, key.spill);
    }
  }
  std::uint32_t size;
  bytes memory;
  std::vector<piece_offset> pieces;
  std::vector<std::uint16_t> slots; // of the chunks
  fragment_sums sums;
};

/// All that an event of this fragment brings.
struct ending {
  std::optional<malformed> problem;
  bool complete = false;
  std::uint32_t flags = 0;
  std::uint32_t mark = 0;
  std::optional<std::uint32_t> time;
  std::vector<std::array<std::uint32_t, 5>> boards;
  friend bool operator==(const ending&, const ending&) = default;
};

ending end(const cut_fragment& f, std::uint32_t chunk_bytes, bool walk) {
  building_settings settings;
  settings.crates = {{crate}};
  settings.chunk_bytes = chunk_bytes;
  building_counters counters;
  admission a(settings, counters);
  candidate_event event(settings);
  event.key = key;
  arrived_fragment arrived;
  arrived.whole = true;
  arrived.where = {f.memory.data(), f.pieces.data(), chunk_bytes, f.size};
  if (!walk) {
    arrived.slots_of_chunks = f.slots;
    arrived.sums = f.sums;
  }
  event.fragments = {arrived};
  a.look_into(event);
  ending e;
  e.complete = a.judge(event).complete;
  e.problem = event.fragments[0].problem;
  e.flags = event.flags;
  e.mark = event.digest.mark();
  e.time = event.reference_time;
  std::vector<event_entry> events(1);
  std::vector<fragment_entry> fragments(1);
  std::vector<piece_offset> pieces(f.pieces.size());
  std::vector<board_entry> boards(crate.boards);
  input_batch batch{1, {}, events, fragments, pieces, boards};
  admission::write(event, {}, batch);
  for (const auto& b : std::span(boards).first(batch.used_boards))
    e.boards.push_back({b.offset, b.bytes, b.slot, static_cast<std::uint32_t>(b.kind), b.opaque});
  return e;
}

bool joins(const cut_fragment& f) { return join(f.slots, f.sums, f.size, crate).has_value(); }

TEST(chunk_summary, full_boards_in_chunks_of_8000_bytes_are_not_walked) {
  for (const std::uint32_t boards : {1U, 4U, 12U, 16U}) {
    const cut_fragment f(full_fragment(boards), 8000);
    EXPECT_TRUE(joins(f)) << boards;
    const auto e = end(f, 8000, false);
    EXPECT_TRUE(e.complete);
    EXPECT_EQ(e.time, 77U);
    EXPECT_EQ(e.boards.size(), boards);
    EXPECT_EQ(e, end(f, 8000, true));
  }
}

TEST(chunk_summary, boards_out_of_order_and_a_wrong_trailer_are_walked) {
  const auto boards_of = [](std::vector<std::uint32_t> slots) {
    std::vector<board_recipe> all;
    for (const std::uint32_t slot : slots) all.push_back({slot, 77, {}, 0});
    return make_fragment(key, all);
  };
  const auto expect_walked = [](const bytes& fragment) {
    for (const std::uint32_t chunk : {2072U, 8000U, 34216U}) {
      const cut_fragment f(fragment, chunk);
      EXPECT_FALSE(joins(f)) << chunk;
      EXPECT_EQ(end(f, chunk, false), end(f, chunk, true)) << chunk;
    }
  };
  expect_walked(boards_of({3, 5, 4, 6, 7, 8}));
  expect_walked(boards_of({3, 4, 5, 8, 6, 7})); // each chunk of 8000 bytes is in order
  auto wrong = boards_of({3, 4, 5, 6, 7, 8});
  wrong[wrong.size() - l2::fragment_trailer_bytes] ^= std::byte{1};
  expect_walked(wrong);
}

TEST(chunk_summary, names_the_spill_where_a_board_begins) {
  const auto f = full_fragment(4);
  for (const std::uint32_t chunk : {1400U, 4000U, 8000U}) {
    for (std::uint32_t at = 0; at < f.size(); at += chunk) {
      const std::span<const std::byte> piece(f.data() + at,
                                             std::min<std::size_t>(chunk, f.size() - at));
      bool has_header = false;
      for (std::uint32_t b = 0; b < 4; ++b)
        has_header |= 4 + 2072 * b >= at && 4 + 2072 * b + 12 <= at + piece.size();
      const auto spill = summary_of(piece, at, key.number, false).spill;
      EXPECT_EQ(spill.has_value(), has_header) << at;
      EXPECT_EQ(spill.value_or(300), 300U);
    }
  }
}

TEST(chunk_summary, does_not_believe_what_is_no_header_of_this_event) {
  const auto f = full_fragment(4);
  EXPECT_EQ(summary_of(f, 0, key.number + 1, false).spill, std::nullopt);
  for (std::size_t word = 0; word < 6; ++word) {
    auto other = f;
    other[4 + 2 * word] &= std::byte{0x3f};
    EXPECT_EQ(summary_of(other, 0, key.number, false).spill, std::nullopt);
  }
  auto other = f;
  other[4 + 9] &= std::byte{0xe0}; // slot 0
  EXPECT_EQ(summary_of(other, 0, key.number, false).spill, std::nullopt);
  EXPECT_EQ(summary_of(std::span(f).first(15), 0, key.number, false).spill, std::nullopt);
}

RC_GTEST_PROP(chunk_summary, any_fragment_ends_as_if_it_were_walked, ()) {
  std::mt19937 generator(*rc::gen::arbitrary<std::uint32_t>());
  const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  std::vector<board_recipe> boards;
  for (std::uint32_t slot = 3; slot <= 18; ++slot) {
    if (one_in(4)) continue;
    board_recipe r{slot, random(), {}, 0};
    if (one_in(20)) r.slot = random() % 32;
    if (one_in(30)) r.opaque_samples = random() % 1025;
    if (r.opaque_samples) r.compression_words = random() % 33;
    boards.push_back(r);
  }
  auto f = make_fragment({one_in(10) ? 301 : key.spill, one_in(10) ? 7 : key.number}, boards);
  for (unsigned flips = random() % 3; flips != 0; --flips) {
    const std::size_t border = 4 + 2072 * (random() % 17);
    const std::size_t at = border + random() % 40;
    if (at >= 20 && at - 20 < f.size()) f[at - 20] ^= std::byte{1} << (random() % 8);
  }
  if (one_in(10)) f.resize(f.size() - std::min<std::size_t>(f.size() - 2, 2 * (random() % 1100)));
  if (one_in(10)) f.resize(f.size() + 2 * (random() % 20));
  f.resize(std::min(f.size(), l2::max_fragment_bytes));
  const std::uint32_t chunk_bytes =
      one_in(2) ? *rc::gen::element(540U, 1400U, 8000U, 34216U)
                : 2072 * (1 + random() % 4) - 20 + 4 * (random() % 16); // cuts a border anywhere
  const cut_fragment cut(f, chunk_bytes);
  RC_CLASSIFY(joins(cut));
  RC_ASSERT(end(cut, chunk_bytes, false) == end(cut, chunk_bytes, true));
}

} // namespace
} // namespace l3::test
