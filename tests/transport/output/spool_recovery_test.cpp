// SPDX-License-Identifier: Apache-2.0
// What a spool finds at its start after segments were cut, changed, or lost.
#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "tests/transport/output/spool_blocks.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/output/spool.hpp"
#include "transport/output/spool_releases.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;
using test::drain;
using test::drained;
using test::numbers;
using test::segment_path;
using test::small_spool;
using test::spool_block;

constexpr std::uint64_t block_bytes = 264; ///< of spool_block()
constexpr std::uint64_t head_bytes = 16;
constexpr std::size_t version_at = 4; ///< in the head
constexpr std::uint64_t three_blocks = head_bytes + 3 * block_bytes;

/// Lane 1, blocks 1 … `last`, three blocks a segment.
void fill(const fs::path& folder, std::uint64_t last) {
  spool disk(small_spool(folder, three_blocks));
  for (std::uint64_t i = 1; i <= last; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
}

test::bytes slice(const test::bytes& of, std::size_t begin, std::size_t end) {
  return {of.begin() + static_cast<std::ptrdiff_t>(begin),
          of.begin() + static_cast<std::ptrdiff_t>(end)};
}

TEST(spool_recovery, finds_what_others_left_and_goes_on_in_a_new_segment) {
  const test::scratch_folder folder;
  {
    spool disk(small_spool(folder.path()));
    EXPECT_TRUE(disk.found().lanes.empty());
    for (std::uint64_t i = 1; i <= 4; ++i) ASSERT_FALSE(disk.append(spool_block(50, i)));
    disk.release(50, 1);
  }
  {
    spool disk(small_spool(folder.path()));
    for (std::uint64_t i = 7; i <= 8; ++i) ASSERT_FALSE(disk.append(spool_block(20, i, 300)));
    ASSERT_FALSE(disk.append(spool_block(90, 1)));
    disk.release(90, 1);
  }
  EXPECT_TRUE(fs::exists(segment_path(folder.path(), 2)));
  spool disk(small_spool(folder.path()));
  const auto& found = disk.found();
  EXPECT_EQ(found.blocks, 5U);
  EXPECT_EQ(found.events, 5 * 3U);
  EXPECT_EQ(disk.totals().bytes, 3 * block_bytes + 2 * (block_bytes + 100));
  EXPECT_EQ(found.damaged + found.torn_tails + found.unreadable, 0U);
  ASSERT_EQ(found.lanes.size(), 2U) << "of lane 90 nothing is needed";
  EXPECT_EQ(found.lanes[0].session, 50U) << "the older one";
  EXPECT_EQ(found.lanes[0].run, 7U);
  EXPECT_EQ(found.lanes[0].node, 50U);
  EXPECT_EQ(disk.lane(50)->first, 2U);
  EXPECT_EQ(disk.lane(50)->last, 4U);
  EXPECT_EQ(disk.lane(50)->events, 9U);
  EXPECT_EQ(found.lanes[1].session, 20U);
  EXPECT_EQ(drain(disk, 50), (drained{numbers(2, 4), {}}));
  EXPECT_EQ(drain(disk, 20, 300), (drained{numbers(7, 8), {}}));
  ASSERT_FALSE(disk.append(spool_block(60, 1)));
  EXPECT_TRUE(fs::exists(segment_path(folder.path(), 3)));
}

TEST(spool_recovery, cuts_off_the_end_wherever_it_was_torn) {
  const test::scratch_folder made;
  fill(made.path(), 3);
  const auto whole = test::read_file(segment_path(made.path(), 1));
  ASSERT_EQ(whole.size(), three_blocks);
  std::vector<std::size_t> cuts;
  for (std::size_t border = 0; border <= 3; ++border) {
    const auto at = head_bytes + border * block_bytes;
    for (const std::size_t cut : {at - 1, at, at + 1}) cuts.push_back(cut);
  }
  for (std::size_t i = 0; i <= sizeof(block_header); ++i) {
    cuts.push_back(head_bytes + 2 * block_bytes + i);
  }
  for (const auto cut : cuts) {
    if (cut > whole.size()) continue;
    const test::scratch_folder folder;
    test::write_file(segment_path(folder.path(), 1), std::span(whole).first(cut));
    const auto good = cut < head_bytes ? 0 : (cut - head_bytes) / block_bytes;
    const auto good_end = cut < head_bytes ? 0 : head_bytes + good * block_bytes;
    {
      spool disk(small_spool(folder.path()));
      EXPECT_EQ(disk.found().torn_tails, cut > good_end ? 1U : 0U) << cut;
      EXPECT_EQ(disk.found().torn_bytes, cut - good_end) << cut;
      EXPECT_EQ(disk.found().damaged, 0U) << cut;
      EXPECT_EQ(drain(disk, 1), (drained{numbers(1, good), {}})) << cut;
      ASSERT_FALSE(disk.append(spool_block(1, good + 1))) << cut;
      EXPECT_EQ(drain(disk, 1), (drained{numbers(1, good + 1), {}})) << cut;
    }
    EXPECT_EQ(fs::exists(segment_path(folder.path(), 1)), good > 0) << cut;
    if (good > 0) {
      EXPECT_EQ(fs::file_size(segment_path(folder.path(), 1)), good_end) << cut;
    }
    const auto copy =
        folder.path() + "/damaged/spool-000001-at-" + std::to_string(good_end) + ".torn";
    ASSERT_EQ(fs::exists(copy), cut > good_end) << cut;
    if (cut > good_end) {
      EXPECT_EQ(test::read_file(copy), slice(whole, good_end, cut)) << cut;
    }
    const spool again(small_spool(folder.path()));
    EXPECT_EQ(again.found().torn_tails, 0U) << cut << ": once is enough";
    EXPECT_EQ(again.found().blocks, good + 1) << cut;
  }
}

test::bytes with_header(test::bytes block, const std::function<void(block_header&)>& change) {
  auto header = load<block_header>(block.data());
  change(header);
  header.payload_crc = crc32c(std::span(block).subspan(sizeof header));
  seal_header(header);
  store(block.data(), header);
  return block;
}

TEST(spool_recovery, sends_an_empty_block_for_one_that_breaks_a_rule_under_right_checksums) {
  const auto good = spool_block(1, 2);
  auto junk = good;
  for (std::size_t i = sizeof(block_header); i < junk.size(); ++i) junk[i] = std::byte{0xee};
  const auto as_it_is = [](block_header&) {};
  for (const auto& bad :
       {with_header(good, [](block_header& h) { h.events = 2; }),
        with_header(good, [](block_header& h) { h.events = 4; }),
        with_header(good, [](block_header& h) { h.events = 0; }), with_header(junk, as_it_is)}) {
    const test::scratch_folder folder;
    {
      spool disk(small_spool(folder.path()));
      for (const auto& block : {spool_block(1, 1), bad, spool_block(1, 3), spool_block(2, 1)})
        ASSERT_FALSE(disk.append(block));
    }
    spool disk(small_spool(folder.path()));
    const auto events = load<block_header>(bad.data()).events;
    EXPECT_EQ(drain(disk, 1), (drained{{1, 3}, {2}, events}));
    EXPECT_EQ(drain(disk, 2), (drained{{1}, {}}));
    EXPECT_EQ(disk.totals().damaged, 1U);
    EXPECT_EQ(disk.lost_events(1), events);
    EXPECT_TRUE(fs::exists(folder.path() + "/damaged/spool-000001-at-" +
                           std::to_string(head_bytes + block_bytes) + ".damaged"));
  }
}

TEST(spool_recovery, takes_a_block_that_no_receiver_can_take_for_damage) {
  constexpr std::size_t most = std::size_t{64} << 20;
  for (const auto& bad :
       {with_header(spool_block(1, 2), [](block_header& h) { h.session = 0; }),
        with_header(spool_block(1, 2), [](block_header& h) { h.sequence = 0; }),
        with_header(spool_block(1, 2), [](block_header& h) { h.sequence = last_sequence + 1; }),
        spool_block(1, 2, most + 8)}) {
    const test::scratch_folder folder;
    const store_file_header head{.number = 1};
    test::bytes file(sizeof head);
    store(file.data(), head);
    for (const auto& block : {spool_block(1, 1), bad, spool_block(1, 3)})
      file.insert(file.end(), block.begin(), block.end());
    test::write_file(segment_path(folder.path(), 1), file);
    spool disk(small_spool(folder.path()));
    EXPECT_EQ(disk.found().damaged, 1U);
    EXPECT_EQ(disk.found().damaged_events, 3U);
    ASSERT_EQ(disk.found().lanes.size(), 1U);
    EXPECT_EQ(disk.found().lanes[0].session, 1U);
    EXPECT_EQ(drain(disk, 1), (drained{{1, 3}, {2}}));
    EXPECT_EQ(disk.totals().missing, 1U);
  }
}

TEST(spool_recovery, keeps_a_block_that_is_as_long_as_a_receiver_takes) {
  constexpr std::size_t most = std::size_t{64} << 20;
  const test::scratch_folder folder;
  auto settings = small_spool(folder.path());
  settings.size = mebibytes(512);
  settings.segment = mebibytes(128);
  {
    spool disk(settings);
    ASSERT_FALSE(disk.append(spool_block(1, 1, most)));
  }
  spool disk(settings);
  EXPECT_EQ(disk.found().damaged, 0U);
  EXPECT_EQ(drain(disk, 1, most), (drained{{1}, {}}));
}

/// Flips a bit of a segment at each of these places, one at a time, and looks what becomes of it.
void flip_each(std::uint64_t last_block, std::uint64_t segment, const std::vector<std::size_t>& at,
               const std::function<void(spool&, const std::string&, std::size_t)>& look) {
  const test::scratch_folder made;
  fill(made.path(), last_block);
  for (const auto place : at) {
    const test::scratch_folder folder;
    fs::copy(made.path(), folder.path(), fs::copy_options::recursive);
    auto file = test::read_file(segment_path(folder.path(), segment));
    file[place] ^= std::byte{0x10};
    test::write_file(segment_path(folder.path(), segment), file);
    spool disk(small_spool(folder.path()));
    look(disk, folder.path(), place);
  }
}

/// All of a header, and some of a payload.
std::vector<std::size_t> places_in_block(std::size_t begin) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < block_bytes; i += i < sizeof(block_header) ? 1 : 37) {
    all.push_back(begin + i);
  }
  return all;
}

TEST(spool_recovery, loses_nothing_to_a_damaged_head) {
  std::vector<std::size_t> head(head_bytes);
  for (std::size_t i = 0; i < head.size(); ++i) head[i] = i;
  head.erase(head.begin() + version_at); // that one says that nothing else is known
  flip_each(3, 1, head, [](spool& disk, const std::string&, std::size_t at) {
    EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 3), {}})) << at;
    EXPECT_EQ(disk.totals().damaged, 0U) << at;
  });
}

TEST(spool_recovery, loses_only_the_block_in_which_a_bit_flipped) {
  // In the middle of the newest segment: all damage is found at the start.
  const std::size_t begin = head_bytes + block_bytes;
  flip_each(3, 1, places_in_block(begin),
            [&](spool& disk, const std::string& folder, std::size_t at) {
              EXPECT_EQ(disk.found().damaged, 1U) << at;
              EXPECT_EQ(disk.found().damaged_events, at < begin + sizeof(block_header) - 8 ? 0U
                                                     : at >= begin + sizeof(block_header)  ? 3U
                                                                                           : 0U)
                  << at;
              EXPECT_EQ(disk.found().blocks, 2U) << at;
              EXPECT_EQ(drain(disk, 1), (drained{{1, 3}, {2}})) << at;
              EXPECT_EQ(disk.totals().damaged, 1U) << at << ": not again";
              const auto segment = test::read_file(segment_path(folder, 1));
              EXPECT_EQ(test::read_file(folder + "/damaged/spool-000001-at-" +
                                        std::to_string(begin) + ".damaged"),
                        slice(segment, begin, begin + block_bytes))
                  << at;
            });
}

TEST(spool_recovery, finds_damage_in_older_segments_when_it_reads) {
  const std::size_t begin = head_bytes + block_bytes;
  flip_each(6, 1, places_in_block(begin),
            [&](spool& disk, const std::string& folder, std::size_t at) {
              const bool header_is_good = at >= begin + sizeof(block_header);
              EXPECT_EQ(disk.found().damaged, header_is_good ? 0U : 1U) << at;
              EXPECT_EQ(disk.found().blocks, header_is_good ? 6U : 5U) << at;
              const drained all{{1, 3, 4, 5, 6}, {2}, header_is_good ? 3U : 0U};
              EXPECT_EQ(drain(disk, 1), all) << at;
              EXPECT_EQ(disk.totals().blocks, header_is_good ? 6U : 5U) << at;
              EXPECT_EQ(disk.totals().events, 15U) << at << ": of the lost block none";
              EXPECT_EQ(disk.totals().bytes, 5 * block_bytes) << at;
              EXPECT_EQ(drain(disk, 1), (drained{{1, 3, 4, 5, 6}, {2}})) << "nothing is lost twice";
              EXPECT_EQ(disk.totals().damaged, 1U) << at;
              const auto segment = test::read_file(segment_path(folder, 1));
              EXPECT_EQ(test::read_file(folder + "/damaged/spool-000001-at-" +
                                        std::to_string(begin) + ".damaged"),
                        slice(segment, begin, begin + block_bytes))
                  << at;
              disk.release(1, 6);
              EXPECT_EQ(disk.totals().blocks, 0U);
              EXPECT_EQ(disk.totals().events, 0U);
              EXPECT_EQ(disk.totals().bytes, 0U);
              EXPECT_EQ(disk.totals().disk_bytes, 0U);
            });
}

TEST(spool_recovery, cuts_off_last_blocks_whose_bytes_never_reached_the_disk) {
  const test::scratch_folder folder;
  fill(folder.path(), 3);
  auto file = test::read_file(segment_path(folder.path(), 1));
  std::fill(file.end() - 150, file.end(), std::byte{0}); // as after a power cut
  test::write_file(segment_path(folder.path(), 1), file);
  {
    spool disk(small_spool(folder.path()));
    EXPECT_EQ(disk.found().damaged, 1U);
    EXPECT_EQ(disk.found().damaged_events, 3U);
    EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 2), {}}));
    EXPECT_EQ(test::files_in(folder.path() + "/damaged"), 1U);
    ASSERT_FALSE(disk.append(spool_block(1, 3)));
  }
  spool again(small_spool(folder.path()));
  EXPECT_EQ(again.found().damaged, 0U) << "gone";
  EXPECT_EQ(drain(again, 1), (drained{numbers(1, 3), {}}));
}

TEST(spool_recovery, reads_what_is_good_of_a_segment_whose_beginning_is_garbage) {
  const test::scratch_folder folder;
  fill(folder.path(), 3);
  auto file = test::read_file(segment_path(folder.path(), 1));
  std::fill_n(file.begin(), head_bytes + 100, std::byte{'x'});
  test::write_file(segment_path(folder.path(), 1), file);
  spool disk(small_spool(folder.path()));
  EXPECT_EQ(disk.found().damaged, 1U);
  EXPECT_EQ(drain(disk, 1), (drained{numbers(2, 3), {}}));
}

TEST(spool_recovery, does_without_a_segment_that_is_lost) {
  const test::scratch_folder folder;
  fill(folder.path(), 9);
  fs::remove(segment_path(folder.path(), 2));
  spool disk(small_spool(folder.path()));
  EXPECT_EQ(drain(disk, 1), (drained{{1, 2, 3, 7, 8, 9}, {4, 5, 6}}));
  EXPECT_EQ(disk.totals().missing, 3U);
  fs::remove(segment_path(folder.path(), 1));
  EXPECT_EQ(drain(disk, 1), (drained{{7, 8, 9}, {1, 2, 3, 4, 5, 6}, 9})) << "and while it runs";
  EXPECT_EQ(disk.totals().damaged, 3U);
  EXPECT_EQ(disk.totals().missing, 3U) << "told once";
  disk.release(1, 9);
  EXPECT_EQ(disk.totals().disk_bytes, 0U);
}

TEST(spool_recovery, refuses_segments_of_another_version_and_leaves_them) {
  const test::scratch_folder folder;
  const unsigned char head[head_bytes + 4] = {'K', 'L', '3', 'S', 3, 0, 0, 0, 1};
  test::write_file(segment_path(folder.path(), 1), std::as_bytes(std::span(head)));
  try {
    const spool disk(small_spool(folder.path()));
    FAIL() << "what it holds is not known";
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(e.what(), segment_path(folder.path(), 1).string() +
                            " is of version 3 of the store; this program knows version 2");
  }
  EXPECT_EQ(fs::file_size(segment_path(folder.path(), 1)), sizeof head);
}

TEST(spool_recovery, refuses_segments_of_another_version_whose_blocks_it_could_read) {
  const test::scratch_folder folder;
  fill(folder.path(), 6);
  for (const std::uint64_t segment : {1U, 2U}) {
    const auto path = segment_path(folder.path(), segment);
    const auto before = test::read_file(path);
    for (const unsigned version : {0U, 3U, 9U, 255U}) {
      auto file = before;
      file[version_at] = std::byte(version);
      test::write_file(path, file);
      try {
        const spool disk(small_spool(folder.path()));
        ADD_FAILURE() << "its blocks may mean something else: " << version;
      } catch (const std::runtime_error& e) {
        EXPECT_EQ(e.what(), path.string() + " is of version " + std::to_string(version) +
                                " of the store; this program knows version 2");
      }
      EXPECT_EQ(test::read_file(path), file);
    }
    test::write_file(path, before);
  }
  spool disk(small_spool(folder.path()));
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 6), {}}));
}

TEST(spool_recovery, begins_in_no_folder_of_a_store_that_is_empty) {
  const test::scratch_folder folder;
  test::write_file(folder.path() + "/manifest.kl3m", {});
  EXPECT_THROW(spool{small_spool(folder.path())}, std::runtime_error);
  EXPECT_EQ(wrong_with_spool_folder(folder.path()),
            "it is a store, of which manifest.kl3m is a file; a spool has a folder of its own");
  EXPECT_EQ(test::files_in(folder.path()), 1U);
}

TEST(spool_recovery, says_how_much_memory_takes_what_it_finds) {
  const test::scratch_folder folder;
  {
    spool disk(small_spool(folder.path()));
    ASSERT_FALSE(disk.append(spool_block(1, 1, 9000)));
    ASSERT_FALSE(disk.append(spool_block(1, 2, 5000)));
    ASSERT_FALSE(disk.append(spool_block(1, 3, 200)));
    disk.release(1, 1);
  }
  const spool disk(small_spool(folder.path()));
  EXPECT_EQ(disk.found().longest, 5000 + sizeof(block_header)) << "of those that are needed";
  const auto settings = small_spool(folder.path()); // of 8 MiB
  EXPECT_EQ(spool::index_memory(settings), (8U << 20) / 96 * 40);
  EXPECT_EQ(spool::index_memory(settings, 1'000'000), 40'000'000U) << "a larger one was full";
  EXPECT_EQ(spool::index_memory({}), std::size_t{160} << 20) << "4 194 304 blocks";
}

TEST(spool_recovery, leaves_a_folder_alone_that_has_the_name_of_a_segment) {
  const test::scratch_folder folder;
  fill(folder.path(), 3);
  fs::create_directory(segment_path(folder.path(), 2));
  spool disk(small_spool(folder.path()));
  EXPECT_EQ(disk.found().strangers, std::vector<std::string>{"spool-000002.kl3"});
  EXPECT_EQ(disk.found().torn_tails, 0U);
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 3), {}}));
  ASSERT_FALSE(disk.append(spool_block(1, 4)));
  EXPECT_TRUE(fs::exists(segment_path(folder.path(), 3)));
  EXPECT_TRUE(fs::exists(segment_path(folder.path(), 2)));
}

TEST(spool_recovery, does_not_give_again_what_was_released) {
  const test::scratch_folder folder;
  {
    spool disk(small_spool(folder.path(), three_blocks));
    for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
    disk.release(1, 4);
  }
  {
    spool disk(small_spool(folder.path()));
    EXPECT_FALSE(fs::exists(segment_path(folder.path(), 1)));
    EXPECT_EQ(drain(disk, 1), (drained{{5}, {}}));
  }
  // A note that is damaged says nothing.
  auto notes = test::read_file(folder.path() + "/released.kl3r");
  notes[16] ^= std::byte{1};
  test::write_file(folder.path() + "/released.kl3r", notes);
  spool disk(small_spool(folder.path()));
  EXPECT_EQ(drain(disk, 1), (drained{numbers(4, 5), {}}));
  disk.release(1, 5);
  EXPECT_EQ(disk.totals().disk_bytes, 0U) << "a found segment goes when it is not needed";
}

TEST(spool_recovery, sets_a_bounded_number_of_damaged_blocks_aside) {
  const test::scratch_folder folder;
  constexpr std::uint64_t blocks = spool::most_copies + 10;
  {
    spool disk(small_spool(folder.path(), 1 << 20));
    for (std::uint64_t i = 1; i <= blocks; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
    ASSERT_FALSE(disk.append(spool_block(1, blocks + 1)));
  }
  auto file = test::read_file(segment_path(folder.path(), 1));
  for (std::uint64_t i = 0; i < blocks; ++i) {
    file[head_bytes + i * block_bytes + 100] ^= std::byte{1};
  }
  test::write_file(segment_path(folder.path(), 1), file);
  {
    spool disk(small_spool(folder.path()));
    EXPECT_EQ(disk.found().damaged, blocks);
    EXPECT_EQ(test::files_in(folder.path() + "/damaged"), spool::most_copies);
    disk.release(1, blocks + 1);
    EXPECT_FALSE(fs::exists(segment_path(folder.path(), 1)));
  }
  spool disk(small_spool(folder.path()));
  ASSERT_FALSE(disk.append(spool_block(2, 1)));
  EXPECT_FALSE(fs::exists(segment_path(folder.path(), 1))) << "copies are named after it";
  EXPECT_TRUE(fs::exists(segment_path(folder.path(), 2)));
}

TEST(spool_recovery, bounds_the_bytes_of_what_it_sets_aside) {
  // Of earlier copies, as many bytes that there is room for another block, or for one byte less.
  for (const bool room : {true, false}) {
    const test::scratch_folder folder;
    fill(folder.path(), 3);
    auto file = test::read_file(segment_path(folder.path(), 1));
    file.back() ^= std::byte{1};
    test::write_file(segment_path(folder.path(), 1), file);
    const auto earlier = folder.path() + "/damaged/spool-000007-at-16.torn";
    fs::create_directory(folder.path() + "/damaged");
    test::write_file(earlier, {});
    fs::resize_file(earlier, spool::most_copied_bytes - block_bytes + (room ? 0 : 1));
    spool disk(small_spool(folder.path()));
    EXPECT_EQ(disk.found().damaged, 1U);
    EXPECT_EQ(test::files_in(folder.path() + "/damaged"), room ? 2U : 1U);
    ASSERT_FALSE(disk.append(spool_block(1, 3)));
    EXPECT_TRUE(fs::exists(segment_path(folder.path(), 8))) << "copies are named after segments";
  }
}

TEST(spool_recovery, makes_no_copy_that_would_cost_the_floor) {
  const test::scratch_folder folder;
  fill(folder.path(), 3);
  auto file = test::read_file(segment_path(folder.path(), 1));
  file.back() ^= std::byte{1};
  test::write_file(segment_path(folder.path(), 1), file);
  auto settings = small_spool(folder.path());
  settings.floor = kibibytes(64);
  spool_system system;
  system.free_bytes = [](int) { return kibibytes(64).bytes; };
  spool disk(settings, system);
  EXPECT_EQ(disk.found().damaged, 1U);
  EXPECT_EQ(test::files_in(folder.path() + "/damaged"), 0U);
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 2), {}}));
}

std::uint64_t noted(const spool_releases& releases, std::uint64_t session) {
  const auto all = releases.all();
  const auto found = all.find(session);
  return found == all.end() ? 0 : found->second;
}

/// The end is without data, and is copied as such.
TEST(spool_recovery, sets_64_mib_aside_and_no_byte_more) {
  for (const std::uint64_t more : {0, 1}) {
    const test::scratch_folder folder;
    fill(folder.path(), 1);
    const auto segment = segment_path(folder.path(), 1);
    fs::resize_file(segment, fs::file_size(segment) + (64 << 20) + more);
    const spool disk(small_spool(folder.path()));
    EXPECT_EQ(disk.found().torn_bytes, (64U << 20) + more);
    EXPECT_EQ(test::files_in(folder.path() + "/damaged"), 1 - more);
  }
}

TEST(spool_releases, keep_a_place_for_each_session_and_use_it_again) {
  const test::scratch_folder folder;
  {
    spool_releases releases(held_folder(folder.path(), "test"));
    for (std::uint64_t s = 1; s <= spool_releases::most_sessions + 1; ++s) releases.note(s, s + 10);
    EXPECT_EQ(noted(releases, 1), 11U);
    EXPECT_EQ(noted(releases, spool_releases::most_sessions), spool_releases::most_sessions + 10);
    EXPECT_EQ(noted(releases, spool_releases::most_sessions + 1), 0U) << "no place";
    releases.note(1, 5);
    EXPECT_EQ(noted(releases, 1), 11U) << "it never falls";
    const spool_release before = releases.notes()[1];
    releases.note(2, 12, 13);
    releases.forget(before);
    EXPECT_EQ(noted(releases, 2), 12U) << "more was noted since";
    releases.forget(releases.notes()[1]);
    EXPECT_EQ(noted(releases, 2), 0U);
    releases.note(5000, 77);
  }
  const auto notes = fs::path(folder.path()) / "released.kl3r";
  ASSERT_EQ(fs::file_size(notes), 2048U * 32);
  auto file = test::read_file(notes);
  const auto first = slice(file, 0, 32);
  file.insert(file.end(), first.begin(), first.end()); // behind the places
  test::write_file(notes, file);
  const spool_releases again(held_folder(folder.path(), "test"));
  EXPECT_EQ(again.all().size(), 1024U);
  EXPECT_EQ(noted(again, 5000), 77U);
  EXPECT_EQ(noted(again, 1), 11U);
  EXPECT_EQ(noted(again, 2), 0U);
}

} // namespace
} // namespace l3
