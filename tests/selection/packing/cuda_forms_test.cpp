// SPDX-License-Identifier: Apache-2.0
// The device forms must give the results of the portable forms.
#include "tests/gpu/executors/cuda_on_host.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/codec/put.hpp"
#include "gpu/decode/packet.hpp"
#include "selection/packing/look_back.hpp"
#include "tests/selection/packing/look_back_cases.hpp"

// Included behind the portable forms, as in a device source.
#include "gpu/codec/put.cuh"
#include "gpu/decode/packet.cuh"
#include "selection/packing/look_back.cuh"

namespace l3::test {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(looking_back); // only its lengths are used here

namespace {

constexpr std::uint32_t width = 128;
struct nothing {};

std::vector<std::byte> noise(std::size_t n) {
  randomness r(n);
  std::vector<std::byte> bytes(n);
  for (std::byte& x : bytes) x = static_cast<std::byte>(r());
  return bytes;
}

TEST(cuda_forms, bring_words_in_at_any_length) {
  constexpr std::uint32_t room = 2000;
  for (const std::uint32_t skipped : {0U, 1U}) { // words, and then nothing lies at multiples of 4
    for (const std::uint32_t n : {0U, 1U, 2U, 255U, 256U, 1036U, 1280U, 1282U, 1999U}) {
      alignas(8) std::uint16_t from[room + 1];
      alignas(8) std::uint16_t to[room] = {};
      std::iota(std::begin(from), std::end(from), std::uint16_t{0x1234});
      run_as_on_a_device<nothing>(1, width, 1, [&](const cuda_block& b, nothing&) {
        swap_in(b, reinterpret_cast<const std::byte*>(from + skipped), to, n);
      });
      for (std::uint32_t i = 0; i < room; ++i)
        ASSERT_EQ(to[i], i < n ? swap_bytes(from[i + skipped]) : 0) << i << " of " << n;
    }
  }
}

TEST(cuda_forms, copy_out_from_and_to_anywhere) {
  const auto made = noise(2400);
  for (const std::uint32_t n : {0U, 1U, 3U, 4U, 688U, 2347U}) {
    for (std::uint32_t k = 0; k < 16; ++k) {
      const std::uint32_t from = k / 4;
      const std::uint32_t to = 4 + k % 4;
      std::vector<std::byte> out(2400, std::byte{0xa5});
      auto expected = out;
      std::copy_n(made.begin() + from, n, expected.begin() + to);
      run_as_on_a_device<nothing>(1, width, 1, [&](const cuda_block& b, nothing&) {
        copy_out(b, made.data() + from, out.data() + to, n);
      });
      ASSERT_EQ(out, expected) << n << " from " << from << " to " << to;
    }
  }
}

/// Puts runs of 0 … 16 bytes side by side, in two parts like two boards of a tile.
TEST(cuda_forms, put_runs_side_by_side) {
  randomness r(3);
  for (int again = 0; again < 40; ++again) {
    constexpr std::uint32_t runs = 150;
    constexpr std::uint32_t parts = 2;
    std::uint32_t bytes[parts * runs];
    std::uint32_t at[parts * runs + 1] = {};
    for (std::uint32_t k = 0; k < parts * runs; ++k) {
      bytes[k] = again < 17 ? static_cast<std::uint32_t>(again) : below(r, 17);
      at[k + 1] = at[k] + bytes[k];
    }
    const auto wanted = noise(at[parts * runs]);
    alignas(16) std::byte image[parts * runs * 16 + copy_slack];
    std::memset(image, 0xa5, sizeof image);
    run_as_on_a_device<nothing>(1, width, 1, [&](const cuda_block& b, nothing&) {
      for (std::uint32_t part = 0; part < parts; ++part) {
        const std::uint32_t first = part * runs;
        make_room(b, image + at[first], at[first + runs] - at[first]);
        b.sync();
        for_each(b, runs, [&](std::uint32_t k) {
          const std::uint32_t n = bytes[first + k];
          std::byte all[16] = {};
          if (n != 0) std::memcpy(all, wanted.data() + at[first + k], n);
          put(b, image + at[first + k], {load<std::uint64_t>(all), load<std::uint64_t>(all + 8)},
              n);
        });
        b.sync();
      }
    });
    ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), image)) << again;
    for (std::size_t i = wanted.size() + 4; i < sizeof image; ++i)
      ASSERT_EQ(image[i], std::byte{0xa5}) << i;
  }
}

TEST(cuda_forms, look_back_over_any_number_of_tiles) {
  randomness r(4);
  for (const std::uint32_t firsts : {0U, 1U, 3U, 40U}) {
    for (const std::uint32_t known : {0U, 1U, 31U, 32U, 33U, 63U, 64U, 65U, 200U}) {
      // `known` tiles before this one published only their lengths, and the tile before them its
      // end.
      auto lengths = make_lengths(known + 7, firsts, r);
      const auto ends = ends_of(lengths);
      std::vector<std::uint64_t> positions(lengths);
      const auto mine = static_cast<std::uint32_t>(known + 6);
      positions[5] = position_word::at(ends[5]).word();
      std::fill(positions.begin(), positions.begin() + 5, 0); // no tile needs these words
      const position_word length(lengths[mine]);
      positions[mine] = 0;
      std::atomic<std::uint32_t> right = 0;
      run_as_on_a_device<look_back::shared>(
          1, width, 1, [&](const cuda_block& b, look_back::shared& s) {
            const column<std::uint64_t> all(positions.data(), mine + 1);
            if (find_end(b, s, mine, length, all) == ends[mine]) ++right;
          });
      ASSERT_EQ(right, width) << known << ", " << firsts;
      ASSERT_EQ(positions[mine], position_word::at(ends[mine]).word());
    }
  }
}

TEST(cuda_forms, look_back_while_others_do) {
  randomness r(5);
  constexpr std::uint32_t tiles = 60;
  const auto lengths = make_lengths(tiles, 3, r);
  std::vector<std::uint64_t> positions(tiles);
  std::vector<std::uint64_t> found(tiles);
  run_as_on_a_device<look_back::shared>(
      tiles, 32, 3, [&](const cuda_block& b, look_back::shared& s) {
        const std::uint64_t end = find_end(b, s, b.index(), position_word(lengths[b.index()]),
                                           column<std::uint64_t>(positions.data(), tiles));
        if (b.lane() == 0) found[b.index()] = end;
      });
  ASSERT_EQ(found, ends_of(lengths));
}

} // namespace
} // namespace l3::test
