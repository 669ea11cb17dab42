// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpu/codec/koto.hpp"
#include "tests/gpu/codec/codec_inputs.hpp"
#include "tests/gpu/codec/textbook.hpp"
#include "tests/gpu/decode/make_boards.hpp"

namespace l3::test {
namespace {

/// Packs in front of guard bytes and checks that they keep their value.
bytes pack(const std::vector<std::uint16_t>& samples) {
  bytes out(koto::max_record_bytes + guard_size, guard);
  const std::uint32_t n = koto::pack_record(samples.data(), out.data());
  EXPECT_TRUE(std::all_of(out.begin() + n, out.end(), [](std::byte b) { return b == guard; }));
  out.resize(n);
  return out;
}

std::vector<std::uint16_t> unpack(const bytes& record) {
  std::vector<std::uint16_t> samples(64);
  EXPECT_EQ(koto::unpack_record(record.data(), record.size(), samples.data()), record.size());
  return samples;
}

bytes literal(std::initializer_list<int> values) {
  bytes b;
  for (const int v : values) b.push_back(static_cast<std::byte>(v));
  return b;
}

TEST(codec, counts_bits) {
  for (std::uint32_t v = 0; v < 65536; ++v) {
    ASSERT_EQ(koto::bits_needed(v), static_cast<std::uint32_t>(std::bit_width(v))) << v;
  }
}

TEST(codec, writes_the_bytes_of_the_format) {
  EXPECT_EQ(pack(std::vector<std::uint16_t>(64, 0x1234)), literal({0, 0x34, 0x12}));

  std::vector<std::uint16_t> samples(64, 500); // the lowest bit of a byte first
  samples[0] = samples[9] = samples[63] = 501;
  EXPECT_EQ(pack(samples), literal({1, 0xf4, 0x01, 0x01, 0x02, 0, 0, 0, 0, 0, 0x80}));

  samples.assign(64, 100);
  samples[0] = 100 + 63;  // bits 0 … 5
  samples[1] = 100 + 1;   // bit 6
  samples[2] = 100 + 33;  // bits 12 and 17
  samples[63] = 100 + 32; // bit 383, the last
  bytes expected = literal({6, 100, 0, 0x7f, 0x10, 0x02});
  expected.resize(51);
  expected[50] = std::byte{0x80};
  EXPECT_EQ(pack(samples), expected);

  samples.assign(64, 0); // of 16 bits: the samples themselves
  samples[1] = 0xffff;
  samples[2] = 0x8001;
  samples[63] = 0xabcd;
  expected = literal({16, 0, 0, 0, 0, 0xff, 0xff, 0x01, 0x80});
  expected.resize(131);
  expected[129] = std::byte{0xcd};
  expected[130] = std::byte{0xab};
  EXPECT_EQ(pack(samples), expected);
}

TEST(codec, equals_the_textbook_for_every_n) {
  randomness r(1);
  for (std::uint32_t bits = 0; bits <= 16; ++bits) {
    for (int k = 0; k < 200; ++k) {
      const auto samples = make_waveform(bits, 0xffff, r);
      const bytes record = pack(samples);
      ASSERT_EQ(std::to_integer<std::uint32_t>(record[0]), bits);
      ASSERT_EQ(record, textbook_pack(samples.data()));
      ASSERT_EQ(unpack(record), samples);
      ASSERT_EQ(textbook_unpack(record.data()), samples);
    }
  }
}

TEST(codec, refuses_what_is_truncated_and_writes_nothing) {
  randomness r(2);
  for (std::uint32_t bits = 0; bits <= 16; ++bits) {
    const bytes record = pack(make_waveform(bits, 0xffff, r));
    for (std::size_t n = 0; n < record.size(); ++n) {
      const bytes cut(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(n));
      std::vector<std::uint16_t> samples(64, 7);
      ASSERT_EQ(koto::unpack_record(cut.data(), n, samples.data()), 0U);
      ASSERT_EQ(samples, std::vector<std::uint16_t>(64, 7));
    }
  }
}

RC_GTEST_PROP(codec, any_bytes_unpack_as_the_textbook_says_or_not_at_all, ()) {
  const auto noise =
      *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
  bytes record(noise.size());
  std::transform(noise.begin(), noise.end(), record.begin(),
                 [](std::uint8_t b) { return static_cast<std::byte>(b); });
  if (!record.empty()) record[0] = static_cast<std::byte>(noise[0] % 20);
  std::vector<std::uint16_t> samples(64);
  const std::uint32_t n = koto::unpack_record(record.data(), record.size(), samples.data());
  const std::uint32_t bits = record.empty() ? 99 : std::to_integer<std::uint32_t>(record[0]);
  const bool whole = record.size() >= 3 && bits <= 16 && record.size() >= 3 + 8 * bits;
  RC_ASSERT(n == (whole ? 3 + 8 * bits : 0));
  if (whole) RC_ASSERT(samples == textbook_unpack(record.data()));
}

} // namespace
} // namespace l3::test
