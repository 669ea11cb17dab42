// SPDX-License-Identifier: Apache-2.0
// Fragments taken apart: plain and opaque boards are found, each kind of damage has its name,
// however the fragment is cut.
#include "transport/building/fragment_index.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/transport/building/level2.hpp"

namespace l3::test {
namespace {

constexpr event_key key{300,
                        20000}; // a spill with its ninth bit set, an event number beyond 14 bits
constexpr crate_readout crate{7, 4, board_kind::sampling_500_mhz};

std::vector<board_recipe> plain_boards() {
  return {{3, 77, {}, 0}, {5, 78, {}, 0}, {6, 79, {}, 0}, {18, 80, {}, 0}};
}

struct indexed {
  fragment_index found;
  std::vector<board_entry> boards;
};

/// Cuts the fragment into pieces that lie in memory in reverse order.
indexed index(const bytes& fragment, std::uint32_t piece_bytes = 1400, crate_readout c = crate) {
  const auto pieces = static_cast<std::uint32_t>((fragment.size() + piece_bytes - 1) / piece_bytes);
  bytes memory(std::size_t{pieces} * piece_bytes + 4);
  std::vector<piece_offset> offsets;
  for (std::uint32_t p = 0; p < pieces; ++p) {
    offsets.push_back((pieces - 1 - p) * piece_bytes);
    const auto first = fragment.begin() + static_cast<std::ptrdiff_t>(p) * piece_bytes;
    const auto n = std::min<std::ptrdiff_t>(piece_bytes, fragment.end() - first);
    std::copy_n(first, n, memory.begin() + offsets.back());
  }
  indexed i;
  i.boards.resize(c.boards);
  i.found = index_fragment(
      {memory.data(), offsets.data(), piece_bytes, static_cast<std::uint32_t>(fragment.size())}, c,
      key, i.boards);
  return i;
}

bytes changed(std::size_t word, std::uint16_t value) {
  auto f = make_fragment(key, plain_boards());
  f[2 * word] = static_cast<std::byte>(value >> 8);
  f[2 * word + 1] = static_cast<std::byte>(value & 0xff);
  return f;
}

std::uint16_t word_of(const bytes& f, std::size_t word) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(f[2 * word]) << 8 |
                                    std::to_integer<unsigned>(f[2 * word + 1]));
}

/// Word w of the header of board b.
constexpr std::size_t header_word(std::size_t b, std::size_t w) {
  return 2 + b * l2::board_words + w;
}

TEST(fragment_index, finds_the_boards_however_the_fragment_is_cut) {
  for (const std::uint32_t piece : {4U, 8U, 1400U, 2072U, 8000U, 40000U}) {
    const auto i = index(make_fragment(key, plain_boards()), piece);
    ASSERT_EQ(i.found.problem, std::nullopt) << piece;
    ASSERT_EQ(i.found.boards, 4U);
    EXPECT_FALSE(i.found.opaque);
    EXPECT_EQ(i.found.time, 77U);
    for (std::uint32_t b = 0; b < 4; ++b) {
      EXPECT_EQ(i.boards[b].offset, 4 + 2072 * b);
      EXPECT_EQ(i.boards[b].bytes, 2072);
      EXPECT_EQ(i.boards[b].slot, plain_boards()[b].slot);
      EXPECT_EQ(i.boards[b].kind, board_kind::sampling_500_mhz);
      EXPECT_EQ(i.boards[b].opaque, 0);
    }
  }
}

TEST(fragment_index, scans_opaque_boards_to_their_end) {
  auto boards = plain_boards();
  boards[0].opaque_samples = 301; // odd: with a pad
  boards[0].compression_words = 32;
  boards[2].opaque_samples = 0;
  for (const std::uint32_t piece : {4U, 1400U, 8000U}) {
    const auto i = index(make_fragment(key, boards), piece);
    ASSERT_EQ(i.found.problem, std::nullopt);
    ASSERT_EQ(i.found.boards, 4U);
    EXPECT_TRUE(i.found.opaque);
    EXPECT_EQ(i.found.time, 78U) << "of the first that is not opaque";
    EXPECT_EQ(i.boards[0].bytes, 2 * (6 + 32 + 301 + 6 + 1));
    EXPECT_EQ(i.boards[0].opaque, 1);
    EXPECT_EQ(i.boards[1].offset, 4U + i.boards[0].bytes);
    EXPECT_EQ(i.boards[1].opaque, 0);
    EXPECT_EQ(i.boards[2].bytes, 2 * 12);
  }
}

TEST(fragment_index, names_each_kind_of_damage) {
  const auto good = make_fragment(key, plain_boards());
  EXPECT_EQ(index(changed(0, 0x2c00)).found.problem, malformed::crate_header);
  EXPECT_EQ(index(changed(0, 0x3c01)).found.problem, malformed::crate_header)
      << "zero bits must be zero";
  EXPECT_EQ(index(changed(1, 123)).found.problem, malformed::wrong_l1a) << "of the crate";
  for (std::size_t w = 0; w < 6; ++w) {
    const auto at = header_word(2, w);
    EXPECT_EQ(index(changed(at, word_of(good, at) & 0x7fff)).found.problem, malformed::header_tag)
        << w;
    EXPECT_EQ(index(changed(at, word_of(good, at) & 0xbfff)).found.problem, malformed::header_tag)
        << w;
  }
  EXPECT_EQ(index(changed(header_word(1, 5), 0xc000)).found.problem, malformed::wrong_l1a)
      << "of a board";
  EXPECT_EQ(index(changed(header_word(1, 4), l2::spill_slot_word(301, 5))).found.problem,
            malformed::wrong_spill);
  EXPECT_EQ(index(changed(header_word(1, 4), l2::spill_slot_word(44, 5))).found.problem,
            malformed::wrong_spill)
      << "the ninth bit";
  EXPECT_EQ(index(changed(header_word(0, 4), l2::spill_slot_word(300, 2))).found.problem,
            malformed::wrong_slot);
  EXPECT_EQ(index(changed(header_word(3, 4), l2::spill_slot_word(300, 19))).found.problem,
            malformed::wrong_slot);
  EXPECT_EQ(index(changed(header_word(1, 4), l2::spill_slot_word(300, 3))).found.problem,
            malformed::wrong_slot)
      << "not rising";
  const auto last = good.size() / 2 - 1;
  EXPECT_EQ(index(changed(last, 1)).found.problem, malformed::crate_trailer);
  EXPECT_EQ(index(changed(last - 1, 0)).found.problem, malformed::crate_trailer);
}

TEST(fragment_index, tells_too_short_from_too_long) {
  const auto good = make_fragment(key, plain_boards());
  for (const std::size_t cut : {2U, 4U, 10U, 2072U, 2076U, 6000U})
    EXPECT_NE(index({good.begin(), good.end() - static_cast<std::ptrdiff_t>(cut)}).found.problem,
              std::nullopt)
        << cut;
  EXPECT_EQ(index({good.begin(), good.end() - 100}).found.problem, malformed::truncated);
  EXPECT_EQ(index({good.begin(), good.begin() + 6}).found.problem, malformed::truncated);
  EXPECT_EQ(index({good.begin(), good.begin() + 2}).found.problem, malformed::truncated);
  EXPECT_EQ(index({good.begin(), good.begin() + 101}).found.problem, malformed::truncated)
      << "half a word";
  for (const std::size_t more : {2U, 4U, 12U, 100U, 2072U}) {
    auto longer = good;
    longer.insert(longer.end(), more, std::byte{});
    EXPECT_EQ(index(longer).found.problem, malformed::trailing_bytes) << more;
  }
  auto boards = plain_boards();
  EXPECT_EQ(index(good, 1400, {7, 3, {}}).found.problem, malformed::trailing_bytes)
      << "more boards than the crate has";
}

TEST(fragment_index, opaque_boards_are_bounded) {
  const auto with = [](std::uint32_t samples, std::uint32_t compression) {
    return make_fragment(key, std::vector<board_recipe>{{3, 1, samples, compression}});
  };
  EXPECT_EQ(index(with(1024, 32)).found.problem, std::nullopt);
  EXPECT_EQ(index(with(1026, 0)).found.problem, malformed::truncated)
      << "no footer where it must be";
  EXPECT_EQ(index(with(100, 33)).found.problem, malformed::truncated);
  auto pad = with(101, 0);
  pad[pad.size() - 5] = std::byte{1};
  EXPECT_EQ(index(pad).found.problem, malformed::truncated) << "a pad is zero";
  auto footer = with(100, 0);
  footer[footer.size() - 6] = std::byte{0};
  EXPECT_EQ(index(footer).found.problem, malformed::truncated);
}

RC_GTEST_PROP(fragment_index, stays_within_its_bytes, (std::vector<std::uint8_t> noise)) {
  // Starts like a fragment with an opaque board, and goes on with random words.
  auto f = make_fragment(key, std::vector<board_recipe>{{3, 1, 4U, 0}});
  f.erase(f.begin() + 16, f.end());
  constexpr std::uint16_t tags[] = {0x8001, 0xc002, 0x6003, 0x0000, 0x2400};
  for (const auto n : noise) put16(f, tags[n % std::size(tags)]);
  const auto i = index(f, 8); // sanitizers find memory errors
  std::uint32_t end = 4;
  for (std::uint32_t b = 0; b < i.found.boards && !i.found.problem; ++b) {
    RC_ASSERT(i.boards[b].offset == end);
    end += i.boards[b].bytes;
  }
  RC_ASSERT(i.found.problem || end + 4 == f.size());
}

bytes flipped(bytes f, std::size_t byte) {
  f[byte] ^= std::byte{1};
  return f;
}

/// Boards of which two are opaque, one of them with a pad.
std::vector<board_recipe> mixed_boards() {
  return {{3, 77, {}, 0}, {5, 78, 37, 2}, {6, 79, 0, 0}, {18, 80, {}, 0}};
}

TEST(fragment_digest, sees_each_change_at_both_ends_of_a_board) {
  const auto f = make_fragment(key, plain_boards());
  const auto digest = index(f).found.digest;
  for (std::size_t board = 0; board < 4; ++board) {
    for (std::size_t byte = 0; byte < 16; ++byte) {
      const std::size_t begins = 4 + 2072 * board;
      EXPECT_NE(index(flipped(f, begins + byte)).found.digest, digest) << board << ' ' << byte;
      EXPECT_NE(index(flipped(f, begins + 2071 - byte)).found.digest, digest)
          << board << ' ' << byte;
    }
  }
}

TEST(fragment_digest, tells_boards_and_lengths_apart) {
  const auto digest = [](const std::vector<board_recipe>& boards) {
    return index(make_fragment(key, boards)).found.digest;
  };
  auto boards = mixed_boards();
  const auto mixed = digest(boards);
  boards[1].opaque_samples = 39; // as long, but for four bytes in its middle
  EXPECT_NE(digest(boards), mixed);
  boards = mixed_boards();
  boards.pop_back();
  EXPECT_NE(digest(boards), mixed);
  EXPECT_NE(digest({}), mixed);
}

} // namespace
} // namespace l3::test
