// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/file_batches.hpp"

#include <gtest/gtest.h>

#include "tests/error_of.hpp"
#include "tests/gpu/decode/make_boards.hpp"
#include "tests/tools/temporary_folder.hpp"

namespace {

using namespace l3;
using namespace std::chrono_literals;
using test::bytes;

constexpr std::uint32_t spill = 300;

readout three_crates() {
  readout r;
  r.crates = {{0, 2, board_kind::sampling_125_mhz},
              {1, 3, board_kind::sampling_125_mhz},
              {7, 1, board_kind::sampling_500_mhz}};
  return r;
}

/// The fragments of a good event; the time stamp is 100 × its number + crate.
std::vector<bytes> whole_event(std::uint32_t number) {
  std::vector<bytes> fragments;
  const readout crates = three_crates();
  for (std::uint8_t place = 0; place < crates.size(); ++place) {
    std::vector<test::made_board> boards;
    for (std::uint8_t k = 0; k < crates.crates[place].boards; ++k)
      boards.push_back(test::make_board(
          crates.crates[place].kind, static_cast<std::uint8_t>(l2::first_slot + k), spill, number,
          100 * number + place, std::vector<std::uint16_t>(l2::sample_words, 500)));
    fragments.push_back(test::make_fragment(place, number, std::move(boards)).content);
  }
  return fragments;
}

constexpr std::size_t board_at(std::size_t k) { return 4 + k * l2::board_bytes; }

class batches : public testing::Test {
protected:
  struct part {
    std::uint16_t place;
    bytes content;
  };

  void write(const std::vector<std::vector<part>>& events) {
    l2raw_writer out(file_, 5, three_crates());
    out.begin_of_spill(spill, 2s);
    std::uint32_t number = 0;
    for (const auto& event : events) {
      std::vector<crate_fragment> fragments;
      for (const part& f : event) fragments.push_back({f.place, f.content});
      out.event(++number, 1ms, fragments);
    }
    out.end_of_spill(4s);
    out.close();
  }

  static std::vector<part> in_order(const std::vector<bytes>& fragments) {
    std::vector<part> all;
    for (const bytes& f : fragments) all.push_back({static_cast<std::uint16_t>(all.size()), f});
    return all;
  }

  /// An empty batch of this many events.
  input_batch& batch_of(const file_batches& in, std::uint32_t events) {
    const batch_capacity c = in.capacity(events);
    memory_.assign(c.bytes, std::byte{0xee});
    events_.assign(c.events, {});
    fragments_.assign(c.fragments, {});
    pieces_.assign(c.pieces, 0);
    boards_.assign(c.boards, {});
    batch_ = {};
    batch_.bytes = memory_;
    batch_.events = events_;
    batch_.fragments = fragments_;
    batch_.pieces = pieces_;
    batch_.boards = boards_;
    return batch_;
  }

  /// The batch of a file that holds this event only.
  const input_batch& one(std::vector<part> event) {
    write({std::move(event)});
    file_batches in(file_);
    input_batch& batch = batch_of(in, 1);
    EXPECT_TRUE(in.fill(batch));
    EXPECT_EQ(batch.used_events, 1U);
    return batch;
  }

  /// The fragment's bytes, as kernels find them by the batch's tables.
  [[nodiscard]] bytes content(std::uint32_t fragment) const {
    const fragment_entry& f = batch_.fragments[fragment];
    const std::byte* const from = byte_of(batch_.bytes.data(), batch_.pieces.data(), f, 0);
    return {from, from + f.bytes};
  }

  temporary_folder folder_;
  std::filesystem::path file_ = folder_ / "in.l2raw";

private:
  std::vector<std::byte> memory_;
  std::vector<event_entry> events_;
  std::vector<fragment_entry> fragments_;
  std::vector<piece_offset> pieces_;
  std::vector<board_entry> boards_;
  input_batch batch_;
};

TEST_F(batches, hold_an_event_as_its_crates_sent_it_in_the_order_of_the_readout) {
  const auto sent = whole_event(1);
  const input_batch& b = one({{2, sent[2]}, {0, sent[0]}, {1, sent[1]}});
  const event_entry& e = b.events[0];
  EXPECT_EQ(e.spill, spill);
  EXPECT_EQ(e.number, 1U);
  EXPECT_EQ(e.flags, 0U);
  EXPECT_EQ(e.fragments, 3U);
  EXPECT_EQ(e.boards, 6U);
  EXPECT_EQ(e.reference_time, 100U);
  std::uint32_t board = 0;
  for (std::uint32_t f = 0; f < 3; ++f) {
    EXPECT_EQ(b.fragments[f].crate, f);
    EXPECT_EQ(b.fragments[f].raw, 0);
    EXPECT_EQ(b.fragments[f].first_board, board);
    EXPECT_EQ(b.fragments[f].boards, three_crates().crates[f].boards);
    EXPECT_EQ(content(f), sent[f]);
    for (std::uint32_t k = 0; k < b.fragments[f].boards; ++k, ++board) {
      EXPECT_EQ(b.boards[board].event, 0U);
      EXPECT_EQ(b.boards[board].fragment, f);
      EXPECT_EQ(b.boards[board].slot, l2::first_slot + k);
      EXPECT_EQ(b.boards[board].offset, board_at(k));
      EXPECT_EQ(b.boards[board].kind, three_crates().crates[f].kind);
    }
  }
}

TEST_F(batches, flag_a_crate_or_a_board_that_is_missing) {
  auto sent = whole_event(1);
  const input_batch& without_crate = one({{1, sent[1]}, {2, sent[2]}});
  EXPECT_EQ(without_crate.events[0].flags, event_incomplete);
  EXPECT_EQ(without_crate.events[0].fragments, 2U);
  EXPECT_EQ(without_crate.events[0].boards, 4U);
  EXPECT_EQ(without_crate.fragments[0].crate, 1);
  EXPECT_EQ(without_crate.events[0].reference_time, 101U);

  const auto at = sent[1].begin() + static_cast<std::ptrdiff_t>(board_at(1));
  sent[1].erase(at, at + l2::board_bytes);
  const input_batch& without_board = one(in_order(sent));
  EXPECT_EQ(without_board.events[0].flags, event_incomplete);
  EXPECT_EQ(without_board.events[0].boards, 5U);
  EXPECT_EQ(without_board.fragments[1].boards, 2);
  EXPECT_EQ(without_board.boards[2].slot, l2::first_slot);
  EXPECT_EQ(without_board.boards[3].slot, l2::first_slot + 2);
}

TEST_F(batches, carry_malformed_fragments_byte_for_byte) {
  auto sent = whole_event(1);
  sent[0] = {};
  sent[1][board_at(2) + 9] ^= std::byte{0x10}; // the slot; its first board could still be read
  const input_batch& b = one(in_order(sent));
  EXPECT_EQ(b.events[0].flags, event_damaged);
  EXPECT_EQ(b.events[0].fragments, 3U);
  EXPECT_EQ(b.events[0].boards, 1U);
  EXPECT_EQ(b.events[0].reference_time, 102U);
  for (std::uint32_t f = 0; f < 3; ++f) {
    EXPECT_EQ(b.fragments[f].raw, f < 2 ? 1 : 0);
    EXPECT_EQ(b.fragments[f].boards, f < 2 ? 0 : 1);
    EXPECT_EQ(content(f), sent[f]);
  }
  EXPECT_EQ(b.fragments[2].first_board, 0U);
  EXPECT_EQ(b.boards[0].fragment, 2U);
}

TEST_F(batches, fill_up_and_go_on) {
  std::vector<std::vector<part>> events;
  for (std::uint32_t n = 1; n <= 5; ++n) events.push_back(in_order(whole_event(n)));
  events[3].clear(); // not one crate
  write(events);
  file_batches in(file_);
  EXPECT_EQ(in.run(), 5U);
  for (int round = 0; round < 2; ++round) {
    std::uint32_t number = 0;
    for (const std::uint32_t expected : {2U, 2U, 1U}) {
      input_batch& b = batch_of(in, 2);
      ASSERT_TRUE(in.fill(b));
      ASSERT_EQ(b.used_events, expected);
      for (std::uint32_t e = 0; e < expected; ++e) {
        EXPECT_EQ(b.events[e].number, ++number);
        EXPECT_EQ(b.events[e].fragments, number == 4 ? 0U : 3U);
        EXPECT_EQ(b.events[e].flags, number == 4 ? std::uint32_t{event_incomplete} : 0U);
      }
    }
    EXPECT_FALSE(in.fill(batch_of(in, 2)));
    in.rewind();
  }
}

TEST_F(batches, say_where_a_file_is_damaged) {
  write({in_order(whole_event(1)), in_order(whole_event(2))});
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 100);
  file_batches in(file_);
  const std::string error = error_of([&] {
    while (in.fill(batch_of(in, 1))) {
    }
  });
  EXPECT_TRUE(error.starts_with(file_.string() + " ends within a record, at offset ")) << error;
  EXPECT_THROW(file_batches(folder_ / "none"), std::runtime_error);
  file_batches on(file_, at_damage::go_on);
  for (int round = 0; round < 2; ++round) {
    input_batch& b = batch_of(on, 2);
    ASSERT_TRUE(on.fill(b));
    EXPECT_EQ(b.used_events, 1U);
    EXPECT_EQ(on.skipped().places, 1U);
    EXPECT_TRUE(on.skipped().to_the_end);
    on.rewind();
  }
}

} // namespace
