// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/decode/decode_cases.hpp"
#include "tests/gpu/decode/swap_cases.hpp"
#include "tests/gpu/executors/cpu_executors.hpp"

namespace l3::test {
namespace {

using all = testing::Types<on_serial<1>, on_serial<128>, on_shuffled<32>, on_threaded<4>,
                           on_pool<1>, on_pool<3>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, decoder, all);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, swapping, all);

/// Boards of both kinds, with and without something to decode.
batch_view tables(std::vector<fragment_entry>& fragments, std::vector<board_entry>& boards) {
  for (std::uint32_t f = 0; f < 2; ++f) {
    fragment_entry fragment;
    fragment.bytes = 4 * l2::board_bytes;
    fragment.piece_bytes = fragment.bytes;
    fragment.first_board = 3 * f;
    fragment.boards = 3;
    fragments.push_back(fragment);
    for (std::uint32_t k = 0; k < 3; ++k) {
      board_entry b;
      b.fragment = f;
      b.offset = 4 + k * l2::board_bytes;
      b.bytes = l2::board_bytes;
      b.slot = static_cast<std::uint8_t>(l2::first_slot + 2 * k);
      b.opaque = k == 1 ? 1 : 0;
      b.kind = f == 1 ? board_kind::sampling_500_mhz : board_kind::sampling_125_mhz;
      boards.push_back(b);
    }
  }
  batch_view in;
  in.fragments = {fragments.data(), 2};
  in.boards = {boards.data(), 6};
  return in;
}

TEST(decode_work, leaves_out_what_is_empty_and_begins_with_what_is_big) {
  std::vector<fragment_entry> fragments;
  std::vector<board_entry> boards;
  const batch_view in = tables(fragments, boards);
  const auto list = [&](bool table, bool suppress, bool big_first) {
    return decode_work(in, {table, suppress, false, big_first, false, false});
  };
  using work = std::vector<std::uint32_t>;
  EXPECT_EQ(list(true, true, false), (work{0, 2, 3, 5}));
  EXPECT_EQ(list(true, true, true), (work{3, 5, 0, 2}));
  EXPECT_EQ(list(false, true, false), (work{0, 4, 16, 20}));
  EXPECT_EQ(list(false, true, true), (work{16, 20, 0, 4}));

  const work every = list(true, false, false);
  ASSERT_EQ(every.size(), 32U);
  for (std::uint32_t k = 0; k < 32; ++k) {
    const std::uint32_t place = k % 16;
    EXPECT_EQ(every[k], place % 2 == 0 && place < 6 ? k / 16 * 3 + place / 2 : no_board) << k;
  }
  const work sources = list(false, false, false);
  ASSERT_EQ(sources.size(), 32U);
  for (std::uint32_t k = 0; k < 32; ++k) EXPECT_EQ(sources[k], k);
}

} // namespace
} // namespace l3::test
