// SPDX-License-Identifier: Apache-2.0
// The library for readers against the views that the tools use (transport/store/event_view.hpp),
// on random events of both codecs, on stored golden ones, and on stores that grow, are cut, or lack
// a file.
#include "reading/include/koto_l3/read.h"

#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/codec/decode_all.hpp"
#include "tests/transport/store/packed_events.hpp"
#include "transport/format/readout.hpp"
#include "transport/store/block.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/koto_record.hpp"

namespace l3::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct closing {
  void operator()(l3_reader* r) const { l3_read_close(r); }
};
using reader = std::unique_ptr<l3_reader, closing>;

reader opened(const fs::path& path, unsigned flags = 0) {
  reader r(l3_read_open(path.c_str(), flags));
  EXPECT_NE(r, nullptr) << l3_read_error();
  return r;
}

std::uint64_t events_in(const reader& r) {
  return static_cast<std::uint64_t>(l3_read_size(r.get(), L3_READ_EVENTS));
}

l3_read_range all_of(const reader& r) { return {0, events_in(r), nullptr}; }

/// The addresses of all inputs of this length, as read.h takes them.
std::vector<std::uint8_t> all_channels(std::uint32_t length) {
  std::vector<std::uint8_t> all;
  for (const crate_readout& c : readout::koto().crates) {
    if ((c.kind == board_kind::sampling_500_mhz) != (length == 256)) continue;
    for (std::uint8_t slot = 3; slot < 3 + c.boards; ++slot)
      for (std::uint8_t channel = 0; channel < (length == 256 ? 4 : 16); ++channel)
        all.insert(all.end(), {c.number, slot, channel});
  }
  return all;
}

struct read_waveforms {
  std::int64_t damaged = 0;
  std::uint32_t length;
  std::size_t columns;
  std::vector<std::uint16_t> samples;
  std::vector<std::uint8_t> state;

  [[nodiscard]] std::vector<std::uint16_t> at(std::size_t event, std::size_t column) const {
    const auto* const first = &samples[(event * columns + column) * length];
    return {first, first + length};
  }
};

read_waveforms read_samples(const reader& r, const l3_read_range& range,
                            const std::vector<std::uint8_t>& channels, std::uint32_t length,
                            int threads = 1) {
  read_waveforms w;
  w.length = length;
  w.columns = channels.size() / 3;
  w.samples.assign(range.count * w.columns * length, 0xabcd);
  w.state.assign(range.count * w.columns, 0xff);
  w.damaged = l3_read_samples(r.get(), &range, channels.data(), w.columns, length, w.samples.data(),
                              w.state.data(), threads);
  return w;
}

/// The channel of a packet that is stored raw, if its words are samples.
std::optional<std::vector<std::uint16_t>> of_packet(std::span<const std::byte> packet,
                                                    unsigned channels, unsigned channel,
                                                    std::uint32_t length) {
  if (packet.size() != l2::board_bytes) return std::nullopt;
  if ((load_big<std::uint16_t>(&packet[2]) & l2::compressed_bit) != 0) return std::nullopt;
  std::vector<std::uint16_t> samples;
  for (std::uint32_t s = 0; s < length; ++s) {
    const auto word = load_big<std::uint16_t>(&packet[12 + 2 * (channels * s + channel)]);
    if (word >> 14 != 2) return std::nullopt;
    samples.push_back(word & 0x3fff);
  }
  return samples;
}

/// What event_view has of a channel; nothing if its samples are not there.
std::optional<std::vector<std::uint16_t>> expected(const packed_event_view& event, unsigned crate,
                                                   unsigned slot, unsigned channel,
                                                   std::uint32_t length) {
  const unsigned channels = length == 256 ? 4 : 16;
  std::uint32_t board = 0;
  for (std::uint32_t f = 0; f < event.fragments(); ++f) {
    std::size_t at = event.start_of(f).first;
    for (std::uint32_t j = 0; j < event.fragment(f).boards; ++j, ++board) {
      const auto packet = event.bytes().subspan(at, event.board(board).bytes);
      at += packet.size();
      if (event.fragment(f).crate != crate || event.board(board).slot != slot) continue;
      const packed_board b = event.board(board);
      if (channels_of(b) != channels) return std::nullopt;
      if ((b.form & board_raw) != 0) return of_packet(packet, channels, channel, length);
      const auto w = unpack_board(event, board, strong::decode_all);
      const auto samples = w ? w->channel(channel, channels) : std::span<const std::uint16_t>();
      if (samples.empty()) return std::nullopt;
      return std::vector<std::uint16_t>(samples.begin(), samples.end());
    }
  }
  return std::nullopt;
}

/// All events of the blocks in a file.
std::vector<packed_event_view> views_of(const bytes& file) {
  std::vector<packed_event_view> all;
  std::span<const std::byte> rest = std::span(file).subspan(sizeof(store_file_header));
  while (!rest.empty()) {
    block_header h;
    EXPECT_EQ(read_block_header(rest, h), block_fault::none);
    event_walk walk(rest.subspan(sizeof h, events_bytes(h)), h);
    while (const auto e = walk.next()) all.push_back(*packed_event_view::parse(*e, h.codec));
    rest = rest.subspan(sizeof h + h.payload_bytes);
  }
  return all;
}

bytes file_of(const std::vector<bytes>& blocks, std::uint64_t number = 1) {
  const store_file_header head = head_of_file(number);
  const auto of_head = std::as_bytes(std::span(&head, 1));
  bytes file(of_head.begin(), of_head.end());
  for (const bytes& b : blocks) file.insert(file.end(), b.begin(), b.end());
  return file;
}

bytes make_blocks(std::uint64_t sequence, codec_id codec, bool oddities, std::uint32_t events = 3) {
  std::mt19937 random(static_cast<std::uint32_t>(sequence));
  event_recipe recipe;
  recipe.fragments = 18;
  recipe.boards = 5;
  recipe.codec = codec;
  recipe.sample_bits = oddities ? 14 : 6;
  recipe.oddities = oddities;
  std::vector<bytes> packed;
  for (std::uint32_t n = 1; n <= events; ++n) {
    recipe.key = {3, static_cast<std::uint32_t>(10 * sequence) + n};
    packed.push_back(make_event(recipe, random).packed);
  }
  bytes block = make_block(packed, 42, sequence);
  block_header h = l3::load<block_header>(block.data());
  h.codec = codec;
  seal_header(h);
  l3::store(block.data(), h);
  return block;
}

/// Compares every channel of every event, and returns how many waveforms were there.
std::size_t compare_all(const reader& r, const std::vector<packed_event_view>& views) {
  EXPECT_EQ(events_in(r), views.size());
  std::size_t there = 0;
  for (const std::uint32_t length : {64U, 256U}) {
    const auto channels = all_channels(length);
    const read_waveforms w = read_samples(r, all_of(r), channels, length, 2);
    EXPECT_EQ(w.damaged, 0) << l3_read_error();
    for (std::size_t e = 0; e < views.size(); ++e)
      for (std::size_t c = 0; c < w.columns; ++c) {
        const auto wanted =
            expected(views[e], channels[3 * c], channels[3 * c + 1], channels[3 * c + 2], length);
        const bool here = w.state[e * w.columns + c] == L3_READ_PRESENT;
        const std::vector<std::uint16_t> nothing(length);
        EXPECT_EQ(here, wanted.has_value()) << e << " " << c;
        EXPECT_EQ(w.at(e, c), here ? wanted.value_or(nothing) : nothing) << e << " " << c;
        there += here ? 1 : 0;
        if (testing::Test::HasFailure()) return there;
      }
  }
  return there;
}

TEST(reading, has_the_samples_that_the_tools_have) {
  for (const codec_id codec : {codec_id::koto, codec_id::strong})
    for (const bool oddities : {false, true}) {
      const scratch_folder folder;
      std::vector<bytes> blocks;
      for (std::uint64_t n = 1; n <= 8; ++n) blocks.push_back(make_blocks(n, codec, oddities));
      const bytes file = file_of(blocks);
      write_file(fs::path(folder.path()) / "blocks-000001.kl3", file);
      const reader r = opened(folder.path());
      EXPECT_GT(compare_all(r, views_of(file)), 1000U);
    }
}

TEST(reading, masks_waveforms_that_were_not_kept) {
  for (const char* const golden : {"golden_payload", "golden_payload_strong"}) {
    const fs::path folder = fs::path(L3_TESTS_DIR) / "system" / golden;
    const bytes file = read_file(folder / "blocks-000001.kl3");
    for (const fs::path& path : {folder, folder / "blocks-000001.kl3"}) {
      const reader r = opened(path);
      EXPECT_GT(compare_all(r, views_of(file)), 50U);
      const auto w = read_samples(r, all_of(r), all_channels(64), 64);
      EXPECT_THAT(w.state, testing::Contains(L3_READ_NOT_KEPT));
      EXPECT_THAT(w.state, testing::Contains(L3_READ_NO_BOARD));
    }
  }
}

TEST(reading, gives_single_channels_what_it_gives_all) {
  const scratch_folder folder;
  const fs::path file = fs::path(folder.path()) / "blocks-000001.kl3";
  write_file(file,
             file_of({make_blocks(1, codec_id::koto, true), make_blocks(2, codec_id::koto, true),
                      make_blocks(3, codec_id::strong, true)}));
  for (const unsigned flags : {0U, unsigned{L3_READ_CHECK_ALL}}) {
    const reader r = opened(file, flags);
    for (const std::uint32_t length : {64U, 256U}) {
      const auto channels = all_channels(length);
      const auto all = read_samples(r, all_of(r), channels, length);
      const std::vector<std::uint64_t> some{7, 0, 8, 2, 2};
      for (std::size_t c = 0; c < all.columns; c += 7) {
        const auto one =
            read_samples(opened(file), {0, some.size(), some.data()},
                         {channels.begin() + 3 * c, channels.begin() + 3 * c + 3}, length);
        ASSERT_EQ(one.damaged, 0) << l3_read_error();
        for (std::size_t i = 0; i < some.size(); ++i) {
          ASSERT_EQ(one.at(i, 0), all.at(some[i], c));
          ASSERT_EQ(one.state[i], all.state[some[i] * all.columns + c]);
        }
      }
    }
  }
}

TEST(reading, tells_channels_that_are_not_there) {
  const scratch_folder folder;
  write_file(fs::path(folder.path()) / "blocks-000001.kl3",
             file_of({make_blocks(1, codec_id::koto, false)}));
  const reader r = opened(folder.path());
  // An unknown crate, slots and channels beyond their boards, another kind; twice the same.
  const auto w = read_samples(
      r, {0, 1, nullptr}, {99, 3, 0, 0, 2, 0, 0, 19, 0, 0, 3, 16, 15, 3, 0, 0, 9, 1, 0, 9, 1}, 64);
  EXPECT_EQ(w.damaged, 0);
  EXPECT_EQ(w.state, (std::vector<std::uint8_t>{6, 6, 6, 6, 6, 2, 2}));
  EXPECT_EQ(read_samples(r, {0, 1, nullptr}, {0, 3, 0}, 128).damaged, -1);
}

TEST(reading, finds_what_comes) {
  const scratch_folder folder;
  const fs::path first = fs::path(folder.path()) / "blocks-000001.kl3";
  std::vector<bytes> blocks{make_blocks(1, codec_id::koto, false)};
  write_file(first, file_of(blocks));
  const reader r = opened(folder.path());
  EXPECT_EQ(events_in(r), 3U);
  blocks.push_back(make_blocks(2, codec_id::koto, false));
  bytes half = file_of(blocks);
  half.resize(half.size() - 100);
  write_file(first, half);
  EXPECT_GT(compare_all(r, views_of(file_of({blocks[0]}))), 100U) << "its file is mapped now";
  EXPECT_EQ(l3_read_refresh(r.get()), 3) << "a block that is being written is no damage";
  for (std::uint64_t n = 4; n < 8; ++n) blocks.push_back(make_blocks(n, codec_id::koto, false));
  // It is completed and renamed, and another one begins.
  write_file(first, file_of(blocks));
  fs::rename(first, fs::path(folder.path()) / complete_file_name(1, {7, 0}));
  write_file(fs::path(folder.path()) / "blocks-000002.kl3",
             file_of({make_blocks(3, codec_id::strong, false)}, 2));
  EXPECT_EQ(l3_read_refresh(r.get()), 21);
  std::vector<bytes> all = blocks;
  all.push_back(make_blocks(3, codec_id::strong, false));
  EXPECT_GT(compare_all(r, views_of(file_of(all))), 500U);
  EXPECT_EQ(l3_read_size(r.get(), L3_READ_SESSIONS), 1);
}

TEST(reading, refuses_damage_or_skips_it) {
  const scratch_folder folder;
  const fs::path path = fs::path(folder.path()) / "blocks-000001.kl3";
  const bytes one = make_blocks(1, codec_id::koto, false);
  const bytes two = make_blocks(2, codec_id::koto, false);
  const bytes three = make_blocks(3, codec_id::koto, false);
  write_file(path, file_of({one, two, three}));
  const std::size_t second = sizeof(store_file_header) + one.size();
  const auto channels = all_channels(64);

  edit_file(path, [&](bytes& file) { file[second + 5000] ^= std::byte{1}; }); // the payload
  {
    const reader r = opened(path);
    EXPECT_EQ(read_samples(r, all_of(r), channels, 64).damaged, -1);
    EXPECT_THAT(l3_read_error(), HasSubstr(path.string() + " is damaged at offset " +
                                           std::to_string(second + sizeof(block_header))));
    const l3_read_range of_second{3, 3, nullptr};
    EXPECT_EQ(l3_read_check(r.get(), &of_second, 1), -1);
    const l3_read_range others{6, 3, nullptr};
    EXPECT_EQ(l3_read_check(r.get(), &others, 1), 0);
  }
  {
    const reader r = opened(path, L3_READ_SKIP_DAMAGED);
    const auto w = read_samples(r, all_of(r), channels, 64);
    EXPECT_EQ(w.damaged, 3);
    EXPECT_EQ(std::accumulate(w.samples.begin() + 3 * 64 * static_cast<long>(w.columns),
                              w.samples.begin() + 6 * 64 * static_cast<long>(w.columns), 0),
              0);
    EXPECT_EQ(w.state[3 * w.columns], L3_READ_DAMAGED);
    EXPECT_NE(w.state[6 * w.columns], L3_READ_DAMAGED);
    ASSERT_EQ(l3_read_size(r.get(), L3_READ_DAMAGE), 1);
    std::uint64_t events = 0;
    void* columns[] = {nullptr, nullptr, &events, nullptr, nullptr};
    const l3_read_range row{0, 1, nullptr};
    EXPECT_EQ(l3_read_rows(r.get(), L3_READ_DAMAGE, &row, columns, 1), 0);
    EXPECT_EQ(events, 3U);
    EXPECT_EQ(l3_read_text(r.get(), L3_READ_DAMAGE, 0, "file", nullptr), path.string());
  }
  edit_file(path, [&](bytes& file) { file[second] ^= std::byte{1}; }); // its header, too
  EXPECT_EQ(l3_read_open(path.c_str(), 0), nullptr);
  EXPECT_THAT(l3_read_error(), HasSubstr("offset " + std::to_string(second)));
  EXPECT_EQ(events_in(opened(path, L3_READ_SKIP_DAMAGED)), 6U);
}

TEST(reading, says_that_a_file_was_cut_or_is_missing) {
  const scratch_folder folder;
  const fs::path path = fs::path(folder.path()) / "blocks-000001.kl3";
  write_file(path, file_of({make_blocks(1, codec_id::koto, false),
                            make_blocks(2, codec_id::koto, false)}));
  write_file(fs::path(folder.path()) / "blocks-000003.kl3",
             file_of({make_blocks(3, codec_id::koto, false)}, 3));
  const reader r = opened(folder.path());
  const reader skipping = opened(folder.path(), L3_READ_SKIP_DAMAGED);
  EXPECT_EQ(events_in(r), 9U);
  fs::resize_file(path, fs::file_size(path) - 1000);
  const std::vector<std::uint8_t> channel{0, 3, 0};
  EXPECT_EQ(read_samples(r, all_of(r), all_channels(64), 64).damaged, -1);
  EXPECT_EQ(read_samples(skipping, all_of(r), all_channels(64), 64).damaged, 3);
  fs::remove(path);
  EXPECT_EQ(read_samples(r, all_of(r), channel, 64).damaged, -1);
  EXPECT_THAT(l3_read_error(), HasSubstr("blocks-000001.kl3"));
  const l3_read_range last{6, 3, nullptr};
  EXPECT_EQ(read_samples(r, last, channel, 64).damaged, 0);
  EXPECT_NE(opened(folder.path()), nullptr) << "a store may lack files";
}

TEST(reading, refuses_what_is_no_store) {
  const scratch_folder folder;
  EXPECT_EQ(l3_read_open(folder.path().c_str(), 0), nullptr);
  EXPECT_THAT(l3_read_error(), HasSubstr("no store"));
  const fs::path text = fs::path(folder.path()) / "text";
  for (const std::size_t length : {0U, 7U, 20U, 4000U}) {
    const std::string content(length, 'x');
    write_file(text, std::as_bytes(std::span(content)));
    EXPECT_EQ(l3_read_open(text.c_str(), 0), nullptr);
    EXPECT_THAT(l3_read_error(), HasSubstr(text.string()));
  }
}

} // namespace
} // namespace l3::test
