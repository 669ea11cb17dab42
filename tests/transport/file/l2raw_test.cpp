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

TEST_F(l2raw, goes_on_behind_damage_at_the_next_whole_record) {
  ASSERT_EQ(at.size(), 6U);
  for (std::size_t damaged = 1; damaged + 1 < at.size(); ++damaged) {
    for (const std::uint64_t place : {at[damaged], at[damaged] + 40, at[damaged + 1] - 1}) {
      auto bytes = whole;
      bytes[place] = static_cast<char>(bytes[place] ^ 1);
      replace(bytes);
      l2raw_reader r(file_);
      std::size_t read = 0;
      while (r.next()) ++read;
      EXPECT_EQ(read, damaged - 1);
      const bool last = damaged + 2 == at.size();
      const auto left_out = r.step_over_damage();
      EXPECT_EQ(left_out, last ? std::nullopt : std::optional(at[damaged + 1] - at[damaged]));
      EXPECT_EQ(r.damage().has_value(), last) << "nothing whole lies behind";
      while (r.next()) ++read;
      EXPECT_EQ(read, 3U);
      EXPECT_EQ(r.records_left_out(), last ? 0U : 1U);
      r.rewind();
      EXPECT_TRUE(damaged == 1 ? !r.next() : r.next().has_value());
    }
  }
}

TEST_F(l2raw, goes_on_where_records_are_missing_and_not_where_they_come_again) {
  const auto part = [&](std::size_t from, std::size_t to) {
    return std::vector<char>(whole.begin() + static_cast<std::ptrdiff_t>(at[from]),
                             whole.begin() + static_cast<std::ptrdiff_t>(at[to]));
  };
  auto bytes = part(0, 2);
  for (const auto& more : {part(3, 4), part(1, 2), part(4, 5)})
    bytes.insert(bytes.end(), more.begin(), more.end());
  replace(bytes);
  l2raw_reader r(file_);
  std::size_t read = 0;
  while (r.next()) ++read;
  EXPECT_EQ(r.step_over_damage(), 0U) << "a record is missing, and no byte is damaged";
  while (r.next()) ++read;
  EXPECT_EQ(r.step_over_damage(), at[2] - at[1]) << "a record that came before";
  while (r.next()) ++read;
  EXPECT_EQ(read, 3U);
  EXPECT_FALSE(r.damage());
  EXPECT_EQ(r.records_left_out(), 1U);
}

} // namespace
} // namespace l3
