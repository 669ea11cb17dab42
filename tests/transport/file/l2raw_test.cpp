// SPDX-License-Identifier: Apache-2.0
// Files read back as they were written; the reader finds every cut and every flipped bit, with its
// place.
#include "transport/file/l2raw.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "transport/format/endian.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

readout two_crates() {
  return {{{0, 2, board_kind::sampling_125_mhz}, {1, 3, board_kind::sampling_500_mhz}}};
}

class l2raw : public testing::Test {
protected:
  l2raw()
      : file_(std::filesystem::path(testing::TempDir()) / ("l2raw-" + std::to_string(::getpid()))) {
    write();
    std::ifstream in(file_, std::ios::binary);
    whole = {std::istreambuf_iterator<char>(in), {}};
    l2raw_reader r(file_);
    at = {0, r.position()};
    while (r.next()) at.push_back(r.position());
  }
  ~l2raw() override { std::filesystem::remove(file_); }

  void write() {
    l2raw_writer w(file_, 12, two_crates());
    w.begin_of_spill(511, 2s);
    const std::vector<std::byte> a(10, std::byte{1});
    const std::vector<std::byte> b(3000000, std::byte{2}); // longer than any buffer
    w.event(1, 5ns, std::vector<crate_fragment>{{0, a}, {1, a}});
    w.event(2, 6ns, std::vector<crate_fragment>{{1, std::span(b).first(l2::max_fragment_bytes)}});
    w.end_of_spill(4s);
    w.close();
  }

  void replace(const std::vector<char>& bytes) {
    std::ofstream(file_, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  std::filesystem::path file_;
  std::vector<char> whole;
  std::vector<std::uint64_t> at; ///< hello, begin, two events, end of spill, the file's end
};

TEST_F(l2raw, cut_anywhere_is_damage_at_the_record_that_is_cut) {
  for (std::size_t border = 0; border + 1 < at.size(); ++border) {
    for (const auto cut :
         {at[border], at[border] + 1, at[border] + 31, at[border] + 33, at[border + 1] - 1}) {
      replace({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)});
      l2raw_reader r(file_);
      std::size_t records = 0;
      while (r.next()) ++records;
      const bool is_whole = cut == at[border] && border > 0;
      EXPECT_EQ(r.damage().has_value(), !is_whole) << cut;
      if (!is_whole) {
        EXPECT_EQ(r.damage()->offset, at[border]);
        EXPECT_EQ(r.damage()->reason, refused::stream_length);
      }
      EXPECT_EQ(records, border == 0 ? 0 : border - 1);
    }
  }
}

TEST_F(l2raw, every_flipped_bit_is_damage) {
  for (std::size_t border = 0; border + 1 < at.size(); ++border) {
    for (std::size_t byte = at[border]; byte < at[border + 1] && byte < at[border] + 80; ++byte) {
      auto bad = whole;
      bad[byte] = static_cast<char>(bad[byte] ^ (1 << (byte % 8)));
      replace(bad);
      l2raw_reader r(file_);
      while (r.next()) {
      }
      ASSERT_TRUE(r.damage()) << byte;
      EXPECT_EQ(r.damage()->offset, at[border]) << byte;
      r.rewind();
      while (r.next()) {
      }
      ASSERT_TRUE(r.damage()) << byte << " after rewind";
    }
  }
}

} // namespace
} // namespace l3
