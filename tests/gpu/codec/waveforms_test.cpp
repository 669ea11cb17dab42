// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpu/codec/waveforms.hpp"
#include "tests/gpu/codec/codec_inputs.hpp"
#include "tests/gpu/decode/make_boards.hpp"

namespace l3::koto {

/// For GoogleTest.
void PrintTo(const waveform_codec& codec, std::ostream* out) { *out << codec.name; }

} // namespace l3::koto

namespace l3::test {
namespace {

using koto::unpack_status;
using koto::waveform_codec;

constexpr std::uint16_t guard_sample = 0x5a5a;

bytes reference(const samples_type& samples) {
  bytes out(koto::max_packed_bytes(samples.size() / 64));
  std::size_t used = 0;
  for (std::size_t i = 0; i < samples.size(); i += 64) {
    used += koto::pack_record(samples.data() + i, out.data() + used);
  }
  out.resize(used);
  return out;
}

bytes pack(const waveform_codec& codec, const samples_type& samples) {
  const auto in = exactly(samples.data(), samples.size());
  const std::size_t room = koto::max_packed_bytes(samples.size() / 64);
  bytes out(room + guard_size, guard);
  const std::size_t n = codec.pack({in.get(), samples.size()}, std::span(out).first(room));
  EXPECT_LE(n, room);
  EXPECT_TRUE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(room), out.end(),
                          [](std::byte b) { return b == guard; }));
  out.resize(n);
  return out;
}

struct unpacked {
  koto::unpack_result result;
  samples_type samples; ///< those of the good records
};

unpacked unpack(const waveform_codec& codec, const bytes& records, std::size_t room,
                koto::store_to where) {
  const auto in = exactly(records.data(), records.size());
  samples_type out(room * 64 + guard_size, guard_sample);
  unpacked u;
  u.result = codec.unpack({in.get(), records.size()}, std::span(out).first(room * 64), where);
  EXPECT_LE(u.result.records, room);
  EXPECT_LE(u.result.bytes, records.size());
  EXPECT_TRUE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(room * 64), out.end(),
                          [](std::uint16_t s) { return s == guard_sample; }));
  out.resize(u.result.records * 64);
  EXPECT_EQ(u.result.above_payload, std::ranges::any_of(out, [](auto s) { return s > 0x3fff; }));
  u.samples = std::move(out);
  return u;
}

/// The same for either place of the samples.
unpacked unpack(const waveform_codec& codec, const bytes& records, std::size_t room) {
  unpacked u = unpack(codec, records, room, koto::store_to::caches);
  const unpacked other = unpack(codec, records, room, koto::store_to::memory);
  EXPECT_EQ(u.samples, other.samples);
  EXPECT_EQ(u.result.status, other.result.status);
  EXPECT_EQ(u.result.bytes, other.result.bytes);
  return u;
}

samples_type make_waveforms(std::size_t n, randomness& r, int bits = -1) {
  samples_type all;
  for (std::size_t i = 0; i < n; ++i) {
    const auto w =
        make_waveform(bits < 0 ? below(r, 17) : static_cast<std::uint32_t>(bits), 0xffff, r);
    all.insert(all.end(), w.begin(), w.end());
  }
  return all;
}

/// Runs every case with every instruction set that this processor has.
class waveforms : public testing::TestWithParam<waveform_codec> {};

void expect_round_trip(const waveform_codec& codec, const samples_type& samples) {
  const bytes expected = reference(samples);
  ASSERT_EQ(pack(codec, samples), expected);
  const auto u = unpack(codec, expected, samples.size() / 64);
  ASSERT_EQ(u.result.status, unpack_status::done);
  ASSERT_EQ(u.result.records, samples.size() / 64);
  ASSERT_EQ(u.result.bytes, expected.size());
  ASSERT_EQ(u.samples, samples);
}

TEST_P(waveforms, any_n_in_any_number) {
  randomness r(1);
  for (int bits = 0; bits <= 16; ++bits) {
    for (const std::size_t n : {1U, 7U, 8U, 9U, 64U})
      expect_round_trip(GetParam(), make_waveforms(n, r, bits));
  }
  for (std::size_t n = 0; n < 100; ++n) expect_round_trip(GetParam(), make_waveforms(n, r));
  expect_round_trip(GetParam(), make_waveforms(10'000, r));
}

TEST_P(waveforms, extremes_at_every_place) {
  samples_type samples;
  for (std::size_t lowest = 0; lowest < 64; ++lowest) {
    for (const std::size_t highest : {(lowest + 1) % 64, (lowest + 32) % 64, (lowest + 63) % 64}) {
      samples_type w(64, 0x8000);
      w[lowest] = 0;
      w[highest] = 0xffff;
      samples.insert(samples.end(), w.begin(), w.end());
      w.assign(64, 0xfffe);
      w[highest] = 0xffff;
      samples.insert(samples.end(), w.begin(), w.end());
      w.assign(64, 1);
      w[lowest] = 0;
      samples.insert(samples.end(), w.begin(), w.end());
    }
  }
  expect_round_trip(GetParam(), samples);
}

TEST_P(waveforms, every_range) {
  samples_type samples;
  for (std::uint32_t range = 0; range < 65536; ++range) {
    const std::size_t at = samples.size();
    samples.resize(at + 64, static_cast<std::uint16_t>(0xffff - range));
    samples[at + range % 64] = 0xffff;
  }
  expect_round_trip(GetParam(), samples);
}

TEST_P(waveforms, addresses_need_no_alignment) {
  randomness r(3);
  const auto samples = make_waveforms(32, r);
  const bytes expected = reference(samples);
  for (std::size_t shift = 0; shift < 64; ++shift) {
    samples_type moved(shift);
    moved.insert(moved.end(), samples.begin(), samples.end());
    bytes out(shift + koto::max_packed_bytes(32));
    const std::size_t n =
        GetParam().pack(std::span(moved).subspan(shift), std::span(out).subspan(shift));
    const auto records = std::span(out).subspan(shift, n);
    ASSERT_TRUE(std::ranges::equal(records, expected));
    std::fill(moved.begin(), moved.end(), guard_sample);
    const auto there = std::span(moved).subspan(shift);
    for (const auto where : {koto::store_to::caches, koto::store_to::memory}) {
      ASSERT_EQ(GetParam().unpack(records, there, where).records, 32U);
      ASSERT_TRUE(std::ranges::equal(there, samples));
    }
  }
}

TEST_P(waveforms, unpacks_as_many_as_there_is_room_for) {
  randomness r(4);
  const auto samples = make_waveforms(40, r);
  const bytes records = reference(samples);
  std::size_t used = 0;
  for (std::size_t room = 0; room <= 40; ++room) {
    const auto u = unpack(GetParam(), records, room);
    ASSERT_EQ(u.result.status, unpack_status::done);
    ASSERT_EQ(u.result.records, room);
    ASSERT_EQ(u.result.bytes, used);
    ASSERT_TRUE(std::equal(u.samples.begin(), u.samples.end(), samples.begin()));
    if (room < 40) used += koto::record_bytes(std::to_integer<std::uint32_t>(records[used]));
  }
}

TEST_P(waveforms, says_where_the_input_is_cut_off) {
  randomness r(5);
  const auto samples = make_waveforms(6, r);
  const bytes records = reference(samples);
  std::size_t begin = 0; // where the record with the cut begins
  std::size_t whole = 0;
  for (std::size_t n = 0; n < records.size(); ++n) {
    const std::size_t length = koto::record_bytes(std::to_integer<std::uint32_t>(records[begin]));
    if (n == begin + length) {
      begin = n;
      ++whole;
    }
    const bytes cut(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(n));
    const auto u = unpack(GetParam(), cut, 6);
    ASSERT_EQ(u.result.status, n == begin ? unpack_status::done : unpack_status::cut_off);
    ASSERT_EQ(u.result.records, whole);
    ASSERT_EQ(u.result.bytes, begin);
    ASSERT_TRUE(std::equal(u.samples.begin(), u.samples.end(), samples.begin()));
  }
}

/// Damages each of 20 records in turn, with enough good ones behind it for the vector form to read
/// it.
template <class Damage>
void expect_refusal(const waveform_codec& codec, unpack_status status, Damage damage) {
  randomness r(6);
  for (std::size_t which = 0; which < 20; ++which) {
    const auto samples = make_waveforms(20, r, 16);
    bytes records = reference(samples);
    const std::size_t at = which * koto::max_record_bytes;
    damage(records.data() + at);
    const auto u = unpack(codec, records, 20);
    ASSERT_EQ(u.result.status, status);
    ASSERT_EQ(u.result.records, which);
    ASSERT_EQ(u.result.bytes, at);
    ASSERT_TRUE(std::equal(u.samples.begin(), u.samples.end(), samples.begin()));
  }
}

TEST_P(waveforms, refuses_more_than_16_bits) {
  for (int bits = 17; bits < 256; ++bits) {
    expect_refusal(GetParam(), unpack_status::too_many_bits,
                   [&](std::byte* record) { record[0] = static_cast<std::byte>(bits); });
  }
}

TEST_P(waveforms, refuses_samples_above_16_bits) {
  for (std::size_t sample = 0; sample < 64; ++sample) {
    expect_refusal(GetParam(), unpack_status::sample_too_large, [&](std::byte* record) {
      store(record + 1, std::uint16_t{1});
      for (std::size_t i = 0; i < 64; ++i) {
        store(record + 3 + 2 * i, static_cast<std::uint16_t>(i == sample ? 0xffff : 0xfffe));
      }
    });
  }
}

TEST_P(waveforms, refuses_to_be_used_wrongly) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  samples_type samples(128);
  bytes out(koto::max_packed_bytes(2));
  const auto& codec = GetParam();
  EXPECT_DEATH(std::ignore = codec.pack(std::span(samples).first(127), out), "");
  EXPECT_DEATH(std::ignore = codec.pack(samples, std::span(out).first(out.size() - 1)), "");
  EXPECT_DEATH(
      std::ignore = codec.unpack(out, std::span(samples).first(127), koto::store_to::caches), "");
}

TEST_P(waveforms, recordings) {
  const auto all = recordings();
  if (all.empty()) GTEST_SKIP() << "KOTO_L3_WAVEFORMS does not name a folder of recordings";
  for (const recording& r : all) {
    SCOPED_TRACE(r.name);
    expect_round_trip(GetParam(), r.samples);
  }
}

INSTANTIATE_TEST_SUITE_P(codec, waveforms,
                         testing::ValuesIn(koto::waveform_codecs().begin(),
                                           koto::waveform_codecs().end()),
                         [](const auto& param) {
                           std::string name = param.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(waveform_codecs, the_first_is_used_and_the_last_is_portable) {
  ASSERT_FALSE(koto::waveform_codecs().empty());
  EXPECT_STREQ(koto::waveform_codecs().back().name, "portable");
  randomness r(7);
  const auto samples = make_waveforms(20, r);
  bytes out(koto::max_packed_bytes(20));
  out.resize(koto::pack(samples, out));
  EXPECT_EQ(out, reference(samples));
  samples_type back(samples.size());
  EXPECT_EQ(koto::unpack(out, back).records, 20U);
  EXPECT_EQ(back, samples);
}

// Every form gives the same result for any bytes.
RC_GTEST_PROP(waveform_codecs, agree_about_noise, ()) {
  const auto noise =
      *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
  bytes records(20 * noise.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i] = static_cast<std::byte>(noise[i % noise.size()]);
  }
  const auto limit = *rc::gen::inRange(1, 19);
  for (std::size_t at = 0; at < records.size();
       at += koto::record_bytes(std::to_integer<std::uint32_t>(records[at]))) {
    records[at] = static_cast<std::byte>(std::to_integer<int>(records[at]) % limit);
    // Most minima are low, so that more than a few records come before a sample exceeds 16 bits.
    if (at + 2 < records.size()) records[at + 2] &= std::byte{0x01};
  }
  const auto all = koto::waveform_codecs();
  const auto expected = unpack(all.back(), records, 50);
  for (const waveform_codec& codec : all.first(all.size() - 1)) {
    const auto u = unpack(codec, records, 50);
    RC_ASSERT(u.result.status == expected.result.status);
    RC_ASSERT(u.result.records == expected.result.records);
    RC_ASSERT(u.result.bytes == expected.result.bytes);
    RC_ASSERT(u.samples == expected.samples);
  }
}

} // namespace
} // namespace l3::test
