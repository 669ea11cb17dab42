// SPDX-License-Identifier: Apache-2.0
// What is kept of the events of lines that limit it must be what the page says, byte for byte, on
// every executor and in every batch.
#include <gtest/gtest.h>

#include "tests/selection/engine/payload_textbook.hpp"

namespace l3::test {
namespace {

TEST(payloads, are_those_of_the_textbook_on_every_executor) {
  const auto events = make_selected_events(400, 21);
  const auto count = expect_payloads({backend::serial, 0}, events, 50, 1);
  for (const std::uint64_t n : count) EXPECT_GT(n, 4U); // each payload, and control events
  EXPECT_EQ(expect_payloads({backend::pool, 3}, events, 7, 2), count);
  EXPECT_EQ(expect_payloads({backend::shuffled, 0}, events, 64, 3), count);
  const std::vector<made_event> few(events.begin(), events.begin() + 12);
  static_cast<void>(expect_payloads({backend::threaded, 0}, few, 5, 4));
}

/// Boards that are whole have groups, those that lack records keep KOTO records.
TEST(payloads, of_the_strong_codec_are_those_of_the_textbook) {
  const auto events = make_selected_events(200, 23);
  const auto count = expect_payloads({backend::serial, 0}, events, 50, 1, codec_id::strong);
  for (const std::uint64_t n : count) EXPECT_GT(n, 1U);
  EXPECT_EQ(expect_payloads({backend::pool, 3}, events, 7, 2, codec_id::strong), count);
  const std::vector<made_event> few(events.begin(), events.begin() + 24);
  static_cast<void>(expect_payloads({backend::shuffled, 0}, few, 5, 3, codec_id::strong));
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
