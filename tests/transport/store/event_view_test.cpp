// SPDX-License-Identifier: Apache-2.0
#include "transport/store/event_view.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpu/codec/decode_all.hpp"
#include "gpu/codec/strong.hpp"
#include "tests/transport/store/packed_events.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/summary.hpp"
#include "transport/store/koto_record.hpp"

namespace l3 {
namespace {

test::event_recipe arbitrary_recipe() {
  test::event_recipe r;
  r.key = {*rc::gen::inRange(0U, 512U), *rc::gen::inRange(1U, 200'000U)};
  r.fragments = *rc::gen::inRange(0U, 6U);
  r.boards = *rc::gen::inRange(0U, 5U);
  r.sample_bits = *rc::gen::inRange(0U, 15U);
  r.codec = *rc::gen::element(codec_id::koto, codec_id::strong);
  return r;
}

TEST(koto_record, comes_back_at_every_width) {
  std::mt19937 random(1);
  for (unsigned width = 0; width <= max_sample_bits; ++width) {
    std::vector<std::uint16_t> samples(64);
    const std::uint32_t range = (1U << width) - 1;
    const auto lowest = static_cast<std::uint16_t>(random() % (0x10000 - range));
    for (auto& s : samples) s = static_cast<std::uint16_t>(lowest + random() % (range + 1));
    samples[5] = lowest;
    samples[63] = static_cast<std::uint16_t>(lowest + range);
    const auto record = test::pack_record(samples);
    ASSERT_EQ(koto_record_bytes(record), 3 + 8 * width);
    waveform got;
    unpack_koto_record(record, got);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), samples.begin())) << width;
  }
}

TEST(koto_record, is_none_if_short_or_too_wide) {
  const auto record = test::pack_record(std::vector<std::uint16_t>(64, 9));
  EXPECT_EQ(koto_record_bytes(std::span(record).first(2)), 0U);
  EXPECT_EQ(koto_record_bytes({}), 0U);
  const std::vector<std::byte> wide(200, std::byte{17});
  EXPECT_EQ(koto_record_bytes(wide), 0U);
}

RC_GTEST_PROP(event_view, gives_back_every_fragment, (std::uint32_t seed)) {
  std::mt19937 random(seed);
  const auto recipe = arbitrary_recipe();
  const auto event = test::make_event(recipe, random);
  const auto view = packed_event_view::parse(event.packed);
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->key() == recipe.key);
  RC_ASSERT(view->fragments() == event.fragments.size());
  std::vector<std::byte> rebuilt;
  for (std::uint32_t i = 0; i < view->fragments(); ++i) {
    RC_ASSERT(rebuild_fragment(*view, i, rebuilt, strong::decode_all));
    RC_ASSERT(rebuilt == event.fragments[i]);
  }
}

RC_GTEST_PROP(event_view, gives_one_board_as_its_fragment_has_it, (std::uint32_t seed)) {
  std::mt19937 random(seed);
  const auto event = test::make_event(arbitrary_recipe(), random);
  const auto view = packed_event_view::parse(event.packed);
  RC_ASSERT(view.has_value());
  std::uint32_t board = 0;
  for (std::uint32_t f = 0; f < view->fragments(); ++f) {
    std::size_t packet = l2::fragment_header_bytes;
    for (std::uint32_t k = 0; k < view->fragment(f).boards; ++k, ++board) {
      const packed_board b = view->board(board);
      const auto one = unpack_board(*view, board, strong::decode_all);
      RC_ASSERT(one.has_value() == ((b.form & board_raw) == 0));
      packet += one ? l2::board_bytes : b.bytes;
      if (!one) continue;
      const unsigned channels = (b.form & board_256_samples) != 0 ? 4 : 16;
      for (unsigned c = 0; c < channels; ++c) {
        const auto samples = one->channel(c, channels);
        RC_ASSERT(samples.size() == l2::sample_words / channels);
        for (std::size_t s = 0; s < samples.size(); ++s) {
          const std::size_t at = packet - l2::board_bytes + 12 + 2 * (channels * s + c);
          RC_ASSERT(load_big<std::uint16_t>(&event.fragments[f][at]) == (0x8000 | samples[s]));
        }
      }
    }
  }
}

RC_GTEST_PROP(event_view, of_a_cut_event_is_none, (std::uint32_t seed)) {
  std::mt19937 random(seed);
  const auto packed = test::make_event(arbitrary_recipe(), random).packed;
  const auto length = *rc::gen::inRange<std::size_t>(0, packed.size());
  RC_ASSERT(!packed_event_view::parse(std::span(packed).first(length)));
}

RC_GTEST_PROP(event_view, of_flipped_bits_is_read_within_its_bounds, (std::uint32_t seed)) {
  std::mt19937 random(seed);
  // In a heap block of exactly its size, so that AddressSanitizer sees a byte too far.
  auto packed = test::make_event(arbitrary_recipe(), random).packed;
  const auto tables = std::min<std::size_t>(packed.size(), 120);
  for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips) {
    packed[random() % tables] ^= static_cast<std::byte>(1U << random() % 8);
  }
  std::vector<std::byte> exact(packed.begin(), packed.end());
  exact.shrink_to_fit();
  if (const auto view = packed_event_view::parse(exact)) {
    std::vector<std::byte> rebuilt;
    for (std::uint32_t i = 0; i < view->fragments(); ++i) {
      if (rebuild_fragment(*view, i, rebuilt, strong::decode_all))
        RC_ASSERT(rebuilt.size() == view->fragment(i).bytes);
    }
    RC_ASSERT(view->summary().size() == view->header().summary_bytes);
  }
}

RC_GTEST_PROP(event_view, is_the_same_beside_an_event_like_it, (std::uint32_t seed)) {
  std::mt19937 random(seed);
  auto recipe = arbitrary_recipe();
  recipe.oddities = *rc::gen::arbitrary<bool>();
  const auto good = test::make_event(recipe, random).packed;
  const auto like = packed_event_view::parse_tables(good, recipe.codec);
  RC_ASSERT(like.has_value());
  const std::uint32_t boards = like->header().boards;
  const std::size_t first = sizeof(packed_event) + like->fragments() * sizeof(packed_fragment);
  for (int n = 0; n < 20 && boards > 0; ++n) {
    auto packed = good;
    const auto length = [&] {
      return packed.begin() + static_cast<std::ptrdiff_t>(first + 4 * (random() % boards) + 2);
    };
    const auto one = length();
    std::swap_ranges(one, one + 2, length());
    if (random() % 2 == 0)
      packed[first + random() % (4 * boards)] ^= static_cast<std::byte>(1U << random() % 8);
    const auto alone = packed_event_view::parse_tables(packed, recipe.codec);
    const auto beside = packed_event_view::parse_tables(packed, recipe.codec, &*like);
    RC_ASSERT(alone.has_value() == beside.has_value());
    if (alone) RC_ASSERT(alone->limited_boards() == beside->limited_boards());
  }
}

TEST(event_view, refuses_each_broken_rule) {
  std::mt19937 random(3);
  test::event_recipe recipe;
  recipe.key = {1, 1};
  recipe.oddities = false;
  recipe.boards = 3;
  const std::size_t boards_at = 32 + 3 * 8; // three boards a fragment, in slots 3 to 5
  test::bytes good;
  do good = test::make_event(recipe, random).packed;
  while (good[boards_at + 1] != good[boards_at + 5] || good[boards_at + 1] != good[boards_at + 9]);
  ASSERT_TRUE(packed_event_view::parse(good));
  const auto broken = [&](std::size_t offset, std::uint8_t value) {
    auto bad = good;
    bad[offset] = static_cast<std::byte>(value);
    return !packed_event_view::parse(bad).has_value();
  };
  EXPECT_TRUE(broken(4 + 1, 2)) << "a spill above 511";
  EXPECT_TRUE(broken(8, 0)) << "event number 0";
  EXPECT_TRUE(broken(boards_at, 2)) << "a slot below 3";
  EXPECT_TRUE(broken(boards_at + 8, 19)) << "a slot above 18";
  EXPECT_FALSE(broken(boards_at + 8, 18)) << "the last slot";
  EXPECT_TRUE(broken(boards_at + 4, 3)) << "slots do not rise";
  EXPECT_TRUE(broken(boards_at + 8, 4)) << "the last slot is not above the one before";
  EXPECT_TRUE(broken(0, std::to_integer<std::uint8_t>(good[0]) ^ 4)) << "length no multiple of 8";
  EXPECT_TRUE(broken(16, 5)) << "fewer boards in the table than in the fragments";
  EXPECT_TRUE(broken(24, 4)) << "summary no multiple of 8";
  EXPECT_TRUE(broken(32 + 8, 0)) << "crates do not rise";
  EXPECT_TRUE(broken(32 + 1, 2)) << "no such form of a fragment";
  EXPECT_TRUE(broken(32 + 4, 1)) << "length of a fragment is not that of its boards";
  EXPECT_TRUE(broken(boards_at + 1, 128)) << "no such form of a board";
  EXPECT_TRUE(broken(boards_at + 1, 16)) << "limited, of an event that keeps all";
  EXPECT_TRUE(broken(boards_at + 2, std::to_integer<std::uint8_t>(good[boards_at + 2]) ^ 8))
      << "records do not fill the board's data";
}

TEST(event_view, refuses_a_fragment_longer_than_any) {
  const auto view_of = [](std::size_t bytes) { // one raw fragment of zeros
    packed_event head;
    head.number = 1;
    head.fragments = 1;
    head.bytes = static_cast<std::uint32_t>(round_up(sizeof head + 8 + bytes, 8));
    const packed_fragment fragment{0, fragment_form::raw, 0, static_cast<std::uint32_t>(bytes)};
    test::bytes packed(head.bytes);
    store(packed.data(), head);
    store(packed.data() + sizeof head, fragment);
    return packed_event_view::parse(packed).has_value();
  };
  EXPECT_TRUE(view_of(l2::max_fragment_bytes));
  EXPECT_FALSE(view_of(l2::max_fragment_bytes + 8));
}

/// An event of one fragment with one board of 64 samples, or two of the same form, of which the
/// records in `mask` are there. The one line of its selection kept it, and asked for that.
struct limited_event {
  std::uint8_t version = 1;
  std::uint8_t payload = 1;
  std::uint16_t table = 16 + 8;
  std::uint8_t summary_lines = 1;
  std::uint32_t kept_by = 1;
  std::uint32_t asked = 1;
  std::uint32_t control = 0;
  std::uint8_t reserved = 0;
  std::uint8_t reserved_of_line = 0;
  std::uint8_t form = 16;
  std::uint16_t mask = 0b1010;
  std::uint16_t records = 0b1010; ///< that are really there
  std::uint16_t rows = 0;
  std::optional<std::uint8_t> line_payload{}; ///< by default that of the event
  bool with_group = false;                    ///< of the strong codec, behind the records

  [[nodiscard]] test::bytes packed() const {
    test::bytes data(2);
    store(data.data(), mask);
    for (unsigned r = 0; r < 16; ++r) {
      if ((records >> r & 1) == 0) continue;
      const auto record =
          test::pack_record(std::vector<std::uint16_t>(64, static_cast<std::uint16_t>(100 + r)));
      data.insert(data.end(), record.begin(), record.end());
    }
    const std::vector<std::uint16_t> samples(l2::sample_words, 100);
    test::bytes group(strong::max_group_bytes);
    group.resize(strong::encode_group(samples.data(), strong::shape::short_ones, group.data()));
    if (with_group) data.insert(data.end(), group.begin(), group.end());
    if ((form & board_features) != 0) {
      const auto at = data.size();
      data.resize(at + 2 + std::size_t{12} * static_cast<unsigned>(std::popcount(rows)));
      store(data.data() + at, rows);
    }
    packed_event head;
    head.spill = 1;
    head.number = 2;
    head.fragments = 1;
    head.boards = 1;
    head.version = version;
    head.payload = static_cast<event_payload>(payload);
    head.payload_bytes = table;
    packed_summary summary;
    summary.lines = summary_lines;
    summary.kept_by = kept_by;
    head.summary_bytes = packed_summary_bytes(summary_lines, 0, 0);
    const std::size_t summary_at = sizeof head + 8 + 8;
    const std::size_t tables = summary_at + head.summary_bytes;
    head.bytes = static_cast<std::uint32_t>(round_up(tables + table + data.size(), 8));
    test::bytes all(head.bytes);
    store(all.data(), head);
    store(all.data() + sizeof head,
          packed_fragment{0, fragment_form::boards, 1,
                          static_cast<std::uint32_t>(l2::fragment_bytes(1))});
    store(all.data() + sizeof head + 8,
          packed_board{3, form, static_cast<std::uint16_t>(data.size())});
    store(all.data() + summary_at, summary);
    if (table >= 16) store(all.data() + tables, packed_payload{0, asked, control, reserved});
    for (std::size_t at = 16; at + 8 <= table; at += 8) {
      all[tables + at] = static_cast<std::byte>(line_payload.value_or(payload));
      all[tables + at + 3] = static_cast<std::byte>(reserved_of_line);
    }
    std::copy(data.begin(), data.end(), all.begin() + static_cast<std::ptrdiff_t>(tables + table));
    return all;
  }
  [[nodiscard]] bool is_read() const { return packed_event_view::parse(packed()).has_value(); }
};

TEST(event_view, tells_which_waveforms_are_there) {
  const auto packed = limited_event{}.packed();
  const auto view = packed_event_view::parse(packed);
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->is_whole());
  EXPECT_EQ(view->limited_boards(), 1U);
  const auto beside = packed_event_view::parse_tables(packed, codec_id::koto, &*view);
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->limited_boards(), 1U);
  EXPECT_EQ(view->payload_lines(), 1U);
  EXPECT_EQ(view->payload_of_line(0).payload, event_payload::suppressed);
  EXPECT_EQ(kept_records(*view, 0), std::vector<std::uint16_t>{0b1010});
  std::vector<std::byte> fragment;
  EXPECT_TRUE(rebuild_fragment(*view, 0, fragment, strong::decode_all));
  ASSERT_EQ(fragment.size(), l2::fragment_bytes(1));
  const auto absent = absent_words(*view, 0);
  EXPECT_EQ(absent.size(), 14U * 64);
  const std::set<std::uint32_t> is_absent(absent.begin(), absent.end());
  for (std::uint32_t w = 0; w < 1024; ++w) {
    const std::uint32_t at = 4 + 12 + 2 * w;
    const std::uint32_t channel = w % 16;
    const bool there = channel == 1 || channel == 3;
    EXPECT_EQ(load_big<std::uint16_t>(&fragment[at]), there ? 0x8000 + 100 + channel : 0U);
    EXPECT_EQ(is_absent.contains(at), !there);
  }
}

TEST(event_view, refuses_what_no_limited_event_is) {
  EXPECT_TRUE(limited_event{}.is_read());
  const limited_event features{.payload = 2, .form = 48, .mask = 0, .records = 0, .rows = 0b101};
  EXPECT_TRUE(features.is_read());
  EXPECT_TRUE((limited_event{.payload = 3, .mask = 0, .records = 0}.is_read()));
  EXPECT_FALSE((limited_event{.version = 0}.is_read())) << "a version without payloads";
  EXPECT_FALSE((limited_event{.version = 2}.is_read())) << "a version to come";
  EXPECT_FALSE((limited_event{.payload = 0}.is_read())) << "limited, and all is kept";
  EXPECT_FALSE((limited_event{.payload = 4}.is_read())) << "no such payload";
  EXPECT_FALSE((limited_event{.table = 8}.is_read())) << "a payload table without its head";
  EXPECT_FALSE((limited_event{.table = 16 + 8 * 33, .summary_lines = 33}.is_read()))
      << "more lines than there may be";
  EXPECT_FALSE((limited_event{.line_payload = 4}.is_read())) << "a line's payload";
  EXPECT_FALSE((limited_event{.form = 0}.is_read())) << "records are missing, unsaid";
  EXPECT_FALSE((limited_event{.form = 24}.is_read())) << "raw and limited";
  EXPECT_FALSE((limited_event{.form = 48}.is_read())) << "features of a suppressed event";
  EXPECT_FALSE((limited_event{.form = 80, .records = 0, .with_group = true}.is_read()))
      << "limited, and a group";
  EXPECT_FALSE((limited_event{.form = 144}.is_read())) << "no such form";
  EXPECT_FALSE((limited_event{.form = 17}.is_read())) << "a waveform of which a part is there";
  EXPECT_FALSE((limited_event{.mask = 0xffff, .records = 0xffff}.is_read()))
      << "whole, and limited";
  EXPECT_FALSE((limited_event{.mask = 0b1110}.is_read())) << "a record too few";
  EXPECT_FALSE((limited_event{.mask = 0b1000}.is_read())) << "a record too many";
  EXPECT_FALSE((limited_event{.payload = 2, .form = 48}.is_read())) << "records beside features";
  EXPECT_FALSE((limited_event{.payload = 2, .mask = 0, .records = 0}.is_read()))
      << "a board without its features";
}

TEST(event_view, refuses_a_payload_that_does_not_follow_from_its_lines) {
  const limited_event two{.table = 16 + 8 * 2, .summary_lines = 2};
  EXPECT_TRUE(two.is_read());
  EXPECT_FALSE((limited_event{.summary_lines = 2}.is_read())) << "a line without a payload";
  EXPECT_FALSE((limited_event{.table = 16 + 8 * 2}.is_read())) << "a payload without a line";
  EXPECT_FALSE((limited_event{.reserved = 1}.is_read())) << "reserved";
  EXPECT_FALSE((limited_event{.reserved_of_line = 1}.is_read())) << "reserved, of a line";
  EXPECT_FALSE((limited_event{.kept_by = 0}.is_read())) << "asked by a line that did not keep it";
  EXPECT_FALSE((limited_event{.control = 2}.is_read())) << "control of a line that there is not";
  EXPECT_FALSE((limited_event{.control = 1}.is_read())) << "limited, and of a control sample";
  EXPECT_FALSE((limited_event{.asked = 0}.is_read())) << "asked by no line";
  EXPECT_FALSE((limited_event{.kept_by = 0, .asked = 0}.is_read())) << "limited, and kept by none";
  EXPECT_FALSE((limited_event{.line_payload = 2}.is_read())) << "another payload than its line's";
}

/// A reader that knows a block's codec refuses boards of another; without a block, those that
/// contradict each other.
TEST(event_view, refuses_boards_of_another_codec_than_the_blocks) {
  for (const codec_id codec : {codec_id::koto, codec_id::strong}) {
    const codec_id other = codec == codec_id::koto ? codec_id::strong : codec_id::koto;
    std::mt19937 random(4);
    test::event_recipe recipe;
    recipe.key = {1, 1};
    recipe.oddities = false;
    recipe.codec = codec;
    const auto packed = test::make_event(recipe, random).packed;
    EXPECT_TRUE(packed_event_view::parse(packed));
    EXPECT_TRUE(packed_event_view::parse(packed, codec));
    EXPECT_FALSE(packed_event_view::parse(packed, other));
  }
  const limited_event limited; // has KOTO records in blocks of either codec
  EXPECT_TRUE(packed_event_view::parse(limited.packed(), codec_id::koto));
  EXPECT_TRUE(packed_event_view::parse(limited.packed(), codec_id::strong));
}

} // namespace
} // namespace l3
