// SPDX-License-Identifier: Apache-2.0
// What is kept of the events of lines that limit it must be what the page says, byte for byte, on
// every executor and in every batch.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/codec/decode_all.hpp"
#include "tests/selection/engine/payload_textbook.hpp"

namespace l3::test {
namespace {

TEST(payloads, are_those_of_the_textbook_on_every_executor) {
  const auto events = make_selected_events(400, 21);
  const auto count = expect_payloads({backend::serial, 0}, events, 50, 1);
  for (const std::uint64_t n : count) EXPECT_GT(n, 4U); // each payload, and control events
  EXPECT_EQ(expect_payloads({backend::pool, 3}, events, 7, 2), count);
  EXPECT_EQ(expect_payloads(shuffled_engine, events, 64, 3), count);
  const std::vector<made_event> few(events.begin(), events.begin() + 12);
  static_cast<void>(expect_payloads(threaded_engine, few, 5, 4));
}

/// Boards that are whole have groups; the others have KOTO records.
TEST(payloads, of_the_strong_codec_are_those_of_the_textbook) {
  const auto events = make_selected_events(200, 23);
  const auto count = expect_payloads({backend::serial, 0}, events, 50, 1, codec_id::strong);
  for (const std::uint64_t n : count) EXPECT_GT(n, 1U);
  EXPECT_EQ(expect_payloads({backend::pool, 3}, events, 7, 2, codec_id::strong), count);
  const std::vector<made_event> few(events.begin(), events.begin() + 24);
  static_cast<void>(expect_payloads(shuffled_engine, few, 5, 3, codec_id::strong));
}

/// The boards of a fragment, each unpacked alone, have the words of the rebuilt fragment.
void expect_boards_alone(const packed_event_view& event, std::uint32_t f, const bytes& rebuilt) {
  const std::uint32_t first = event.start_of(f).second;
  std::size_t packet = 4;
  for (std::uint32_t j = 0; j < event.fragment(f).boards; ++j) {
    const packed_board b = event.board(first + j);
    const auto alone = unpack_board(event, first + j, strong::decode_all);
    const board_kind kind = (b.form & board_256_samples) != 0 ? board_kind::sampling_500_mhz
                                                              : board_kind::sampling_125_mhz;
    EXPECT_EQ(alone.has_value(), (b.form & board_raw) == 0);
    for (std::size_t n = 0; alone && n < alone->samples.size(); ++n) {
      const std::size_t word = sample_word(kind, n / 64, n % 64);
      const bool is_there = (alone->records >> n / 64 & 1) != 0;
      EXPECT_EQ(load_big<std::uint16_t>(&rebuilt[packet + 12 + 2 * word]),
                is_there ? 0x8000 | alone->samples[n] : 0);
    }
    packet += alone ? 2072 : b.bytes;
  }
}

/// Of each event that is stored, from the bytes alone: what is there is what came, and a board
/// alone has the samples that it has beside the others.
TEST(payloads, of_limited_events_have_the_samples_that_came) {
  const auto events = make_selected_events(200, 28);
  const small_selecting s(limiting_selection());
  std::uint64_t limited = 0;
  const auto found = s.select({backend::pool, 2}, events, 50, 1, 1, {}, codec_id::strong);
  for (std::size_t k = 0; k < events.size(); ++k) {
    if (found[k].packed.empty()) continue;
    const auto view = packed_event_view::parse(found[k].packed);
    ASSERT_TRUE(view) << "event " << k << " is no packed event";
    limited += view->limited_boards();
    for (std::uint32_t f = 0; f < view->fragments(); ++f) {
      const bytes& came = events[k].fragments[f].content;
      std::vector<std::byte> rebuilt;
      EXPECT_TRUE(rebuild_fragment(*view, f, rebuilt, strong::decode_all));
      EXPECT_EQ(rebuilt.size(), came.size());
      expect_boards_alone(*view, f, rebuilt);
      fill_absent_words(*view, f, rebuilt, [&](std::uint32_t at) { return &came[at]; });
      EXPECT_TRUE(rebuilt == came) << "event " << k;
    }
  }
  EXPECT_GT(limited, 50U);
}

/// The decisions and summaries are those of the same menu without payloads, whose packed events are
/// of version 0 and have no payload table.
TEST(payloads, change_no_decision) {
  const small_selecting plain;
  const small_selecting limiting(limiting_selection());
  const auto events = make_selected_events(200, 22);
  const auto one = plain.select({backend::serial, 0}, events, 50, 1, 1);
  const auto other = limiting.select({backend::serial, 0}, events, 50, 1, 1);
  for (std::size_t k = 0; k < events.size(); ++k) {
    event_summary same = other[k].summary;
    same.payload = event_payload::all;
    same.asked = same.control = 0;
    ASSERT_EQ(one[k].summary, same) << "event " << k;
    if (one[k].summary.kept == 0) continue;
    const auto head = load<packed_event>(one[k].packed.data());
    EXPECT_EQ(head.version, 0);
    EXPECT_EQ(head.payload_bytes, 0);
  }
}

/// The lines that limit what is kept, and the same lines without payloads.
TEST(payloads, are_all_where_every_event_is_recorded) {
  const small_selecting limiting(limiting_selection(), selection_mode::record);
  const small_selecting whole(
      R"(sequence = ["measure_pulses", "find_clusters", "compute_quantities", "match_ends",
                     "judge_vetoes", "decide", "keep_waveforms"])"
      "\n" +
          std::string(small_selection),
      selection_mode::record);
  const auto events = make_selected_events(200, 24);
  const auto found = limiting.select({backend::serial, 0}, events, 50, 1, 1);
  ASSERT_TRUE(found == whole.select({backend::serial, 0}, events, 50, 1, 1));
  for (const outcome& o : found) {
    ASSERT_FALSE(o.packed.empty());
    EXPECT_EQ(load<packed_event>(o.packed.data()).version, 0);
    EXPECT_EQ(o.summary.payload, event_payload::all);
  }
}

} // namespace
} // namespace l3::test
