// SPDX-License-Identifier: Apache-2.0
// What is kept of the events of lines that limit it must be what the page says, byte for byte, on
// every executor and in every batch.
#include <cstdint>
#include <map>
#include <vector>

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

/// Boards that are whole have groups; records of those that lack some are gathered into groups.
TEST(payloads, of_the_strong_codec_are_those_of_the_textbook) {
  const auto events = make_selected_events(200, 23);
  const auto count = expect_payloads({backend::serial, 0}, events, 50, 1, codec_id::strong);
  for (const std::uint64_t n : count) EXPECT_GT(n, 1U);
  EXPECT_EQ(expect_payloads({backend::pool, 3}, events, 7, 2, codec_id::strong), count);
  const std::vector<made_event> few(events.begin(), events.begin() + 24);
  static_cast<void>(expect_payloads({backend::shuffled, 0}, few, 5, 3, codec_id::strong));
}

/// How many events have rounded samples, by their greatest error.
std::map<std::uint32_t, std::uint64_t> rounded_events(const std::vector<made_event>& events,
                                                      codec_id codec) {
  const small_selecting s(rounding_selection());
  std::map<std::uint32_t, std::uint64_t> count;
  for (const outcome& o : s.select({backend::serial, 0}, events, 50, 1, 1, {}, codec)) {
    if (o.packed.empty()) continue;
    const auto view = packed_event_view::parse(o.packed);
    if (!view) ADD_FAILURE();
    if (view && view->rounded_boards() != 0) ++count[view->greatest_error()];
  }
  return count;
}

TEST(payloads, are_rounded_as_in_the_textbook_on_every_executor) {
  const auto events = make_selected_events(400, 26);
  for (const codec_id codec : {codec_id::koto, codec_id::strong}) {
    const auto count = rounded_events(events, codec);
    for (const std::uint32_t error : {2U, 3U, 100U}) EXPECT_GE(count.at(error), 3U) << error;
    const auto expect = [&](backend where, std::uint16_t threads, std::size_t n,
                            std::uint32_t batch) {
      const std::vector<made_event> some(events.begin(),
                                         events.begin() + static_cast<std::ptrdiff_t>(n));
      static_cast<void>(
          expect_payloads({where, threads}, some, batch, 1, codec, rounding_selection()));
    };
    expect(backend::serial, 0, 400, 50);
    expect(backend::pool, 3, 400, 7);
    expect(backend::shuffled, 0, 48, 9);
    expect(backend::threaded, 0, 12, 5);
  }
}

/// The boards of a fragment, each unpacked alone, have the words of the rebuilt fragment.
void expect_boards_alone(const packed_event_view& event, std::uint32_t f, const bytes& rebuilt) {
  const std::uint32_t first = event.start_of(f).second;
  std::size_t packet = 4;
  for (std::uint32_t j = 0; j < event.fragment(f).boards; ++j) {
    const packed_board b = event.board(first + j);
    const auto alone = unpack_board(event, first + j);
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

struct stored_samples {
  std::uint64_t off = 0;      ///< samples that are not those that came
  std::uint64_t groups = 0;   ///< whole boards that are rounded, by their form
  std::uint64_t records = 0;  ///< the same
  std::uint64_t gathered = 0; ///< boards whose records are
  std::uint64_t with_two = 0; ///< events with two groups of them
};

/// Of each event that is stored, from the bytes alone: no sample is farther off than its event and
/// its board say, what is not rounded is what came, and a board alone has the samples that it has
/// beside the others.
stored_samples expect_what_came(const std::vector<made_event>& events, const std::string& menu) {
  const small_selecting s(menu);
  const auto found = s.select({backend::pool, 2}, events, 50, 1, 1, {}, codec_id::strong);
  stored_samples count;
  for (std::size_t k = 0; k < events.size(); ++k) {
    if (found[k].packed.empty()) continue;
    const auto view = packed_event_view::parse(found[k].packed);
    if (!view) {
      ADD_FAILURE() << "event " << k << " is no packed event";
      continue;
    }
    std::uint64_t groups = 0;
    for (std::uint32_t n = 0; n < view->header().boards; ++n) {
      const std::uint32_t form = view->board(n).form;
      if ((form & board_limited) != 0 && (form & board_strong) != 0) {
        ++count.gathered;
        groups += view->board(n).bytes > 2 + 24 ? 1 : 0; // more than mask and stored words
      }
      if ((form & board_rounded) == 0 || (form & board_limited) != 0) continue;
      ++((form & board_strong) != 0 ? count.groups : count.records);
    }
    count.with_two += groups > 1 ? 1 : 0;
    for (std::uint32_t f = 0; f < view->fragments(); ++f) {
      const bytes& came = events[k].fragments[f].content;
      std::vector<std::byte> rebuilt;
      EXPECT_TRUE(rebuild_fragment(*view, f, rebuilt));
      EXPECT_EQ(rebuilt.size(), came.size());
      expect_boards_alone(*view, f, rebuilt);
      for (const loose_word& w : loose_words(*view, f)) {
        if (w.error == loose_word::absent) continue;
        EXPECT_LE(w.error, view->greatest_error());
        EXPECT_TRUE(is_near(&rebuilt[w.at], &came[w.at], w.error)) << "event " << k;
        count.off += is_near(&rebuilt[w.at], &came[w.at], 0) ? 0 : 1;
      }
      settle_loose_words(*view, f, rebuilt, [&](std::uint32_t at) { return &came[at]; });
      EXPECT_TRUE(rebuilt == came) << "event " << k;
    }
  }
  return count;
}

TEST(payloads, of_rounded_samples_are_within_their_error) {
  const auto count = expect_what_came(make_selected_events(200, 27), rounding_selection());
  EXPECT_GT(count.off, 1000U);
  EXPECT_GT(count.groups, 20U);
  EXPECT_GT(count.records, 20U) << "boards that are shorter so than as groups";
}

TEST(payloads, of_gathered_records_have_the_samples_that_came) {
  const auto count = expect_what_came(make_selected_events(200, 28), limiting_selection());
  EXPECT_EQ(count.off, 0U);
  EXPECT_GT(count.gathered, 50U);
  EXPECT_GT(count.with_two, 5U);
}

/// The decisions and summaries are those of the same menu without payloads, whose packed events are
/// of version 0 and have no payload table.
TEST(payloads, change_no_decision) {
  const small_selecting plain;
  const small_selecting limiting(limiting_selection());
  const small_selecting rounding(rounding_selection());
  const auto events = make_selected_events(200, 22);
  const auto one = plain.select({backend::serial, 0}, events, 50, 1, 1);
  const auto other = limiting.select({backend::serial, 0}, events, 50, 1, 1);
  const auto off = rounding.select({backend::serial, 0}, events, 50, 1, 1);
  for (std::size_t k = 0; k < events.size(); ++k) {
    const std::uint32_t lines = (1U << one[k].summary.lines) - 1;
    ASSERT_EQ(one[k].summary.fired, off[k].summary.fired & lines) << "event " << k;
    ASSERT_EQ(one[k].summary.kept_by, off[k].summary.kept_by & lines) << "event " << k;
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
