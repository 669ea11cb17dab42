// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gpu/codec/strong.hpp"
#include "tests/tools/temporary_folder.hpp"
#include "tools/pack/strong_file.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace {

using namespace l3;

const packing_progress quiet = [](std::uint64_t) {};

class strong_file : public testing::Test {
protected:
  std::string packed(const std::string& samples, std::uint32_t per_waveform) {
    put("in.u16", samples);
    byte_input in(path("in.u16"));
    byte_output out(path("out.kl3w"), in);
    pack_strong(in, out, per_waveform, quiet);
    out.close();
    return content("out.kl3w");
  }
  std::string unpacked(const std::string& file, std::optional<std::uint32_t> samples = {}) {
    put("again.kl3w", file);
    byte_input in(path("again.kl3w"));
    byte_output out(path("back.u16"), in);
    unpack_strong(in, out, samples, quiet);
    out.close();
    return content("back.u16");
  }
  /// Why a file is refused; "" if it is not.
  std::string refusal(const std::string& file, std::optional<std::uint32_t> samples = {}) {
    try {
      unpacked(file, samples);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }

private:
  std::string path(const char* name) { return (folder_.path() / name).string(); }
  void put(const char* name, const std::string& bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  std::string content(const char* name) {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

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

TEST_F(strong_file, refuses_samples_that_contradict_it) {
  const auto file = packed(noise(256), 256);
  EXPECT_EQ(refusal(file, 256), "");
  EXPECT_NE(refusal(file, 64).find("its waveforms have 256 samples, not 64 (--samples)"),
            std::string::npos);
}

TEST_F(strong_file, gives_back_more_than_a_section) {
  const auto samples = noise(64 * (3 * max_section_records + 5));
  const auto file = packed(samples, 64);
  EXPECT_LT(file.size(), samples.size() / 3);
  EXPECT_EQ(unpacked(file), samples);
}

TEST_F(strong_file, is_refused_wherever_a_bit_is_wrong) {
  const auto file = packed(noise(4096), 64);
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (i > 64 && i + 64 < file.size() && i % 13 != 0) continue;
    auto damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    EXPECT_NE(refusal(damaged), "") << "byte " << i;
  }
}

TEST_F(strong_file, is_refused_wherever_it_is_cut_off) {
  const auto file = packed(noise(4096), 64);
  for (std::size_t n = 0; n < file.size(); n += n < 64 || n + 64 > file.size() ? 1 : 17)
    EXPECT_NE(refusal(file.substr(0, n)), "") << n << " bytes";
  EXPECT_NE(refusal(file + '\0'), "");
}

TEST_F(strong_file, says_what_is_wrong_and_where) {
  const auto file = packed(noise(4096), 64);
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

TEST_F(strong_file, takes_whole_waveforms_only) {
  EXPECT_THROW(packed(noise(64 * 3), 256), std::runtime_error);
  EXPECT_THROW(packed(noise(65), 64), std::runtime_error);
}

TEST_F(strong_file, grows_by_no_more_than_its_heads) {
  std::mt19937 random(2);
  std::string samples(std::size_t{64} * 2 * 4096, '\0');
  for (auto& c : samples) c = static_cast<char>(random());
  EXPECT_EQ(packed(samples, 64).size(), samples.size() + 256 * 2 + 3 * 16);
}

} // namespace
