// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <random>
#include <string>

#include "gpu/codec/strong.hpp"
#include "tests/error_of.hpp"
#include "tests/tools/temporary_folder.hpp"
#include "tools/pack/byte_stream.hpp"

namespace {

using namespace l3;

const packing_progress quiet = [](std::uint64_t) {};

/// docs/formats.md, section 5, bit by bit.
std::string oracle(const std::vector<std::uint16_t>& samples) {
  std::string out;
  for (std::size_t at = 0; at < samples.size(); at += 64) {
    const auto run = std::span(samples).subspan(at, 64);
    const auto [low, high] = std::minmax_element(run.begin(), run.end());
    const auto bits = static_cast<unsigned>(std::bit_width(static_cast<unsigned>(*high - *low)));
    std::string record(3 + std::size_t{8} * bits, '\0');
    record[0] = static_cast<char>(bits);
    record[1] = static_cast<char>(*low & 0xff);
    record[2] = static_cast<char>(*low >> 8);
    for (unsigned i = 0; i < 64; ++i)
      for (unsigned b = 0; b < bits; ++b)
        if ((static_cast<unsigned>(run[i] - *low) >> b & 1U) != 0) {
          const unsigned bit = i * bits + b;
          record[3 + bit / 8] = static_cast<char>(record[3 + bit / 8] | 1 << bit % 8);
        }
    out += record;
  }
  return out;
}

template <class Convert>
void convert(const std::filesystem::path& from, const std::filesystem::path& to,
             const Convert& with) {
  byte_input in(from.string());
  byte_output out(to.string(), in);
  with(in, out);
  out.close();
}
void pack(const std::filesystem::path& from, const std::filesystem::path& to,
          std::uint32_t samples) {
  convert(from, to, [&](auto& in, auto& out) { pack_stream(in, out, samples, quiet); });
}
void unpack(const std::filesystem::path& from, const std::filesystem::path& to,
            std::uint32_t samples) {
  convert(from, to, [&](auto& in, auto& out) { unpack_stream(in, out, samples, quiet); });
}

RC_GTEST_PROP(packing, gives_the_oracle_and_comes_back, ()) {
  const temporary_folder folder;
  const auto waveforms = *rc::gen::inRange<std::size_t>(0, 20);
  const auto samples = *rc::gen::element(64U, 128U, 256U);
  std::vector<std::uint16_t> values;
  while (values.size() < waveforms * samples) {
    // Each run has its own range, so that every N comes up.
    const auto bits = *rc::gen::inRange(0, 17);
    const auto low = *rc::gen::inRange(0, 65536 - (1 << bits) + 1);
    const auto run = *rc::gen::container<std::vector<int>>(64, rc::gen::inRange(0, 1 << bits));
    for (const auto v : run) values.push_back(static_cast<std::uint16_t>(low + v));
  }
  write_file(folder / "in.u16", values);
  pack(folder / "in.u16", folder / "packed", samples);
  RC_ASSERT(contents(folder / "packed") == oracle(values));
  unpack(folder / "packed", folder / "out.u16", samples);
  RC_ASSERT(contents(folder / "out.u16") == contents(folder / "in.u16"));
}

TEST(packing, every_recording_comes_back) {
  const auto files = recorded_waveforms();
  if (files.empty()) GTEST_SKIP() << "KOTO_L3_WAVEFORMS is not set";
  const temporary_folder folder;
  for (const auto& file : files) {
    pack(file, folder / "packed", samples_of(file));
    const auto bytes = contents(file);
    std::vector<std::uint16_t> values(bytes.size() / 2);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    EXPECT_EQ(contents(folder / "packed"), oracle(values)) << file;
    unpack(folder / "packed", folder / "out.u16", samples_of(file));
    EXPECT_EQ(contents(folder / "out.u16"), bytes) << file;
  }
}

/// 4 MiB are read at a time: a record lies across the border.
TEST(packing, goes_on_behind_each_4_mib) {
  const temporary_folder folder;
  constexpr std::size_t part = std::size_t{4} << 20;
  std::string whole(3 * part + 384, '\0');
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<char>(i * i % 10'007 % 64);
  for (const std::size_t bytes : {part, part + 128, whole.size()}) {
    write_file(folder / "in", whole.substr(0, bytes));
    pack(folder / "in", folder / "packed", 64);
    unpack(folder / "packed", folder / "out", 64);
    EXPECT_TRUE(contents(folder / "out") == whole.substr(0, bytes)) << bytes;
  }
}

TEST(packing, refuses_broken_records_with_their_place) {
  const temporary_folder folder;
  const auto good = oracle(std::vector<std::uint16_t>(64, 7)) + [] {
    std::vector<std::uint16_t> steps(64);
    for (std::uint16_t i = 0; i < 64; ++i) steps[i] = i;
    return oracle(steps);
  }();
  const auto refusal = [&](const std::string& bytes, std::uint32_t samples) {
    write_file(folder / "in", bytes);
    std::filesystem::remove(folder / "out");
    auto error = error_of([&] { unpack(folder / "in", folder / "out", samples); });
    EXPECT_EQ(std::filesystem::exists(folder / "out"), error.empty());
    return error.substr(std::min(error.size(), error.find("offset")));
  };
  EXPECT_EQ(refusal(good, 64), "");
  EXPECT_EQ(refusal(good, 128), "");
  EXPECT_EQ(refusal(good.substr(0, good.size() - 1), 64),
            "offset 3: the record is truncated: it has 50 of 51 bytes");
  EXPECT_EQ(refusal(good.substr(0, 4), 64),
            "offset 3: the record is truncated: it has 1 of 51 bytes");
  EXPECT_EQ(refusal(good.substr(0, 3) + '\x11', 64),
            "offset 3: a record of N = 17 bits; there are at most 16");
  EXPECT_EQ(refusal(std::string(1, 1) + std::string(10, '\xff'), 64),
            "offset 0: a record with a sample beyond 65535");
  EXPECT_EQ(refusal(good.substr(0, 3), 128),
            "offset 0: the last waveform has 1 of 2 records of its 128 samples");
}

/// Files of the strong codec.
class strong_file : public testing::Test {
protected:
  std::string packed(const std::string& samples, std::uint32_t per_waveform) {
    write_file(folder_ / "in.u16", samples);
    convert(folder_ / "in.u16", folder_ / "out.kl3w",
            [&](auto& in, auto& out) { pack_strong(in, out, per_waveform, quiet); });
    return contents(folder_ / "out.kl3w");
  }
  std::string unpacked(const std::string& file, std::optional<std::uint32_t> samples = {}) {
    write_file(folder_ / "again.kl3w", file);
    convert(folder_ / "again.kl3w", folder_ / "back.u16",
            [&](auto& in, auto& out) { unpack_strong(in, out, samples, quiet); });
    return contents(folder_ / "back.u16");
  }
  /// Why a file is refused; "" if it is not.
  std::string refusal(const std::string& file, std::optional<std::uint32_t> samples = {}) {
    return error_of([&] { return unpacked(file, samples); });
  }

private:
  temporary_folder folder_;
};

std::string noise(std::size_t samples) {
  std::mt19937 random(1);
  std::string bytes;
  for (std::size_t i = 0; i < samples; ++i) {
    const auto x = static_cast<std::uint16_t>(900 + random() % 8 + random() % 8);
    bytes += {static_cast<char>(x & 0xff), static_cast<char>(x >> 8)};
  }
  return bytes;
}

TEST_F(strong_file, gives_back_any_number_of_waveforms) {
  for (const std::uint32_t samples : {64U, 128U, 192U, 256U})
    for (const std::size_t waveforms : {0U, 1U, 2U, 7U, 16U, 17U, 1030U})
      EXPECT_EQ(unpacked(packed(noise(waveforms * samples), samples)), noise(waveforms * samples))
          << waveforms << " of " << samples;
}

TEST_F(strong_file, gives_back_more_than_a_section) {
  const auto samples = noise(64 * (3 * max_section_records + 5));
  const auto file = packed(samples, 64);
  EXPECT_LT(file.size(), samples.size() / 3);
  EXPECT_EQ(unpacked(file), samples);
}

TEST_F(strong_file, is_refused_wherever_a_bit_is_wrong_or_it_is_cut_off) {
  const auto file = packed(noise(4096), 64);
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (i > 64 && i + 64 < file.size() && i % 13 != 0) continue;
    auto damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    EXPECT_NE(refusal(damaged), "") << "byte " << i;
    EXPECT_NE(refusal(file.substr(0, i)), "") << i << " bytes";
  }
  EXPECT_NE(refusal(file + '\0'), "");
}

TEST_F(strong_file, says_what_is_wrong_and_where) {
  EXPECT_NE(error_of([&] { return packed(noise(65), 64); }), "") << "not whole waveforms";
  const auto file = packed(noise(4096), 64);
  EXPECT_EQ(refusal(file, 64), "");
  EXPECT_NE(refusal(file, 256).find("its waveforms have 64 samples, not 256 (--samples)"),
            std::string::npos);
  EXPECT_NE(refusal("KOTO").find("offset 0: this is not a file of the strong codec"),
            std::string::npos);
  EXPECT_NE(refusal(file.substr(0, 100)).find("offset 16: the section is truncated: it has 68 of "),
            std::string::npos);
  auto damaged = file;
  damaged[200] = static_cast<char>(damaged[200] ^ 1);
  EXPECT_NE(refusal(damaged).find("offset 16: the section is damaged"), std::string::npos);
  EXPECT_NE(refusal(file.substr(0, file.size() - 16)).find("the head of a section is truncated"),
            std::string::npos);
}

TEST_F(strong_file, grows_by_no_more_than_its_heads) {
  std::mt19937 random(2);
  std::string samples(std::size_t{64} * 2 * 4096, '\0');
  for (auto& c : samples) c = static_cast<char>(random());
  EXPECT_EQ(packed(samples, 64).size(), samples.size() + 256 * 2 + 3 * 16);
}

} // namespace
