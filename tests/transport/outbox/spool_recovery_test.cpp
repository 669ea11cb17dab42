// SPDX-License-Identifier: Apache-2.0
// What a spool finds at its start after segments were cut, changed, or lost.
#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "tests/transport/outbox/spool_blocks.hpp"
#include "tests/transport/store/failing_reads.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/outbox/spool.hpp"
#include "transport/outbox/spool_backlog.hpp"
#include "transport/outbox/spool_releases.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;
using test::block_bytes;
using test::drain;
using test::drained;
using test::edit_file;
using test::head_bytes;
using test::numbers;
using test::segment_path;
using test::small_spool;
using test::spool_block;

constexpr std::size_t version_at = 4; ///< in the head
constexpr std::uint64_t three_blocks = head_bytes + 3 * block_bytes;

/// Lane 1, blocks 1 … `last`, three blocks a segment.
void fill(const fs::path& folder, std::uint64_t last) {
  spool disk(small_spool(folder, three_blocks));
  for (std::uint64_t i = 1; i <= last; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
}

TEST(spool_recovery, finds_the_oldest_lane_first) {
  const test::scratch_folder folder;
  for (const std::uint64_t session : {50, 20, 90})
    ASSERT_FALSE(spool(small_spool(folder.path())).append(spool_block(session, 4)));
  const spool disk(small_spool(folder.path()));
  std::vector<block_identity> lanes;
  for (const std::uint32_t session : {50, 20, 90}) lanes.push_back({session, 7, session});
  EXPECT_EQ(disk.found().lanes, lanes);
}

test::bytes with_header(test::bytes block, const std::function<void(block_header&)>& change) {
  auto header = load<block_header>(block.data());
  change(header);
  header.payload_crc = crc32c(std::span(block).subspan(sizeof header));
  seal_header(header);
  store(block.data(), header);
  return block;
}

TEST(spool_recovery, sends_an_empty_block_for_one_whose_events_contradict_its_header) {
  const test::scratch_folder folder;
  const auto bad = with_header(spool_block(1, 2), [](block_header& h) { h.events = 4; });
  {
    spool disk(small_spool(folder.path()));
    for (const auto& block : {spool_block(1, 1), bad, spool_block(1, 3)})
      ASSERT_FALSE(disk.append(block));
  }
  spool disk(small_spool(folder.path()));
  EXPECT_EQ(drain(disk, 1), (drained{{1, 3}, {2}, 4}));
  EXPECT_EQ(disk.totals().damaged, 1U);
  EXPECT_EQ(disk.lost_events(1), 4U);
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

/// Flips a bit of a segment at each of these places, one at a time, and looks what becomes of it.
void flip_each(std::uint64_t last_block, std::uint64_t segment, const std::vector<std::size_t>& at,
               const std::function<void(spool&, std::size_t)>& look) {
  const test::scratch_folder made;
  fill(made.path(), last_block);
  for (const auto place : at) {
    const test::scratch_folder folder;
    fs::copy(made.path(), folder.path(), fs::copy_options::recursive);
    edit_file(segment_path(folder.path(), segment),
              [&](test::bytes& file) { file[place] ^= std::byte{0x10}; });
    spool disk(small_spool(folder.path()));
    look(disk, place);
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
  flip_each(3, 1, head, [](spool& disk, std::size_t at) {
    EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 3), {}})) << at;
    EXPECT_EQ(disk.totals().damaged, 0U) << at;
  });
}

TEST(spool_recovery, finds_damage_in_older_segments_when_it_reads) {
  const std::size_t begin = head_bytes + block_bytes;
  flip_each(6, 1, places_in_block(begin), [&](spool& disk, std::size_t at) {
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
  edit_file(segment_path(folder.path(), 1), [](test::bytes& file) { // as after a power cut
    std::fill(file.end() - 150, file.end(), std::byte{0});
  });
  {
    spool disk(small_spool(folder.path()));
    EXPECT_EQ(disk.found().damaged, 1U);
    EXPECT_EQ(disk.found().damaged_events, 3U);
    EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 2), {}}));
    ASSERT_FALSE(disk.append(spool_block(1, 3)));
  }
  spool again(small_spool(folder.path()));
  EXPECT_EQ(again.found().damaged, 0U) << "gone";
  EXPECT_EQ(drain(again, 1), (drained{numbers(1, 3), {}}));
}

/// As after a power cut, which takes the last writes.
TEST(spool_recovery, tells_once_what_was_on_disk_and_is_in_no_segment) {
  const test::scratch_folder folder;
  fill(folder.path(), 9);
  fs::remove(segment_path(folder.path(), 1));
  fs::remove(segment_path(folder.path(), 3));
  {
    const spool disk(small_spool(folder.path()));
    const auto& gone = disk.found().gone;
    ASSERT_EQ(gone.size(), 2U);
    EXPECT_EQ(gone[0].session, 1U);
    EXPECT_EQ(gone[0].first, 1U);
    EXPECT_EQ(gone[0].last, 3U);
    EXPECT_EQ(gone[1].first, 7U);
    EXPECT_EQ(gone[1].last, 9U);
    EXPECT_EQ(disk.totals().missing, 6U);
  }
  fs::remove(segment_path(folder.path(), 2));
  EXPECT_EQ(spool(small_spool(folder.path())).totals().missing, 3U) << "a lane without a block";
  EXPECT_EQ(spool(small_spool(folder.path())).totals().missing, 0U);
}

TEST(spool_recovery, refuses_segments_of_another_version_whose_blocks_it_could_read) {
  const test::scratch_folder folder;
  fill(folder.path(), 6);
  for (const std::uint64_t segment : {1U, 2U}) {
    const auto path = segment_path(folder.path(), segment);
    const auto before = test::read_file(path);
    for (const unsigned version : {0U, 3U, 9U, 255U}) {
      edit_file(path, [&](test::bytes& file) { file[version_at] = std::byte(version); });
      try {
        const spool disk(small_spool(folder.path()));
        ADD_FAILURE() << "its blocks may mean something else: " << version;
      } catch (const std::runtime_error& e) {
        EXPECT_EQ(e.what(), path.string() + " has version " + std::to_string(version) +
                                " of the store format; this program reads version 2");
      }
    }
    test::write_file(path, before);
  }
  spool disk(small_spool(folder.path()));
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 6), {}}));
}

std::uint64_t noted(const spool_releases& releases, std::uint64_t session) {
  const auto all = releases.all();
  const auto found = all.find(session);
  return found == all.end() ? 0 : found->second;
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
  ASSERT_EQ(fs::file_size(notes), 1024U * 32);
  edit_file(notes, [](test::bytes& file) {
    const test::bytes first(file.begin(), file.begin() + 32);
    file.insert(file.end(), first.begin(), first.end()); // behind the places
    file[2 * 32 + 16] ^= std::byte{1};                   // a damaged note says nothing
  });
  const spool_releases again(held_folder(folder.path(), "test"));
  EXPECT_EQ(again.all().size(), 1023U);
  EXPECT_EQ(noted(again, 3), 0U);
  EXPECT_EQ(noted(again, 5000), 77U);
  EXPECT_EQ(noted(again, 1), 11U);
  EXPECT_EQ(noted(again, 2), 0U);
}

// Numbers that a lane on disk lacks: a forwarder that has each block acknowledged before it asks
// for the next one gets an empty block for them all the same. A slow link and a store that refused
// a block do that.

/// Takes the current lane block by block; the numbers of those that are empty.
std::vector<std::uint64_t> take_one_by_one(spool_backlog& from) {
  std::vector<std::uint64_t> empty;
  for (auto next = from.lane().stored + 1; next <= from.lane().sealed; ++next) {
    const auto block = from.hold(next);
    if (!block) {
      ADD_FAILURE() << "the lane stands still at block " << next;
      return empty;
    }
    if (load<block_header>(block.bytes.data()).payload_bytes == 0) empty.push_back(next);
    from.stored_up_to(next, {});
  }
  return empty;
}

TEST(spool_backlog, goes_on_behind_a_block_that_was_damaged_when_it_was_found) {
  const test::scratch_folder folder;
  {
    spool disk(small_spool(folder.path()));
    for (std::uint64_t i = 1; i <= 4; ++i) ASSERT_FALSE(disk.append(spool_block(9, i)));
  }
  edit_file(segment_path(folder.path(), 1), [](test::bytes& file) {
    for (const std::uint64_t damaged : {2, 3})
      file[head_bytes + damaged * block_bytes - 1] ^= std::byte{1};
  });
  spool disk(small_spool(folder.path()));
  spool_backlog backlog(disk, {5, 7, 3});
  ASSERT_TRUE(backlog.next_lane());
  EXPECT_EQ(take_one_by_one(backlog), numbers(2, 3));
  EXPECT_TRUE(backlog.next_lane()) << "it is done, and there is no other";
  EXPECT_EQ(backlog.lane().identity.session, 0U);
  EXPECT_EQ(disk.totals().blocks, 0U);
  EXPECT_EQ(disk.totals().missing, 2U);
}

/// The connection broke after the one before it was acknowledged.
TEST(spool_backlog, counts_a_missing_block_once_however_often_it_is_sent) {
  const test::scratch_folder folder;
  spool disk(small_spool(folder.path()));
  for (const std::uint64_t i : {1, 3}) ASSERT_FALSE(disk.append(spool_block(9, i)));
  test::bytes block;
  for (const std::uint64_t stored : {0, 1, 1}) {
    disk.release(9, stored);
    EXPECT_FALSE(disk.read(9, 2, block).error) << "with " << stored << " stored";
  }
  EXPECT_EQ(disk.totals().missing, 1U);
  EXPECT_EQ(test::first_of(disk, 9), 3U);
  disk.release(9, 2);
  EXPECT_TRUE(disk.read(9, 2, block).error);
  EXPECT_EQ(test::first_of(disk, 9), 3U);
  EXPECT_EQ(disk.totals().blocks, 1U);
}

// A disk that refuses to be read for a moment, or for good: nothing is taken for damaged or lost
// that was only not given.

/// A read is tried three times: it fails, and the one behind it.
constexpr int moment = 4;
constexpr int very_long = 1 << 20;
constexpr std::uint64_t last = 7;

class refused_spool : public testing::Test {
protected:
  void SetUp() override {
    spool disk(small_spool(folder_.path(), three_blocks));
    for (std::uint64_t i = 1; i <= last; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
  }

  test::scratch_folder folder_;
};

/// Reads of the list of what was released: it is read before the segments.
constexpr int reads_of_the_list = spool_releases::most_sessions;

/// How often a start reads. Most of it is the list of what was released, one entry at a time.
int reads_of_a_start(const fs::path& folder) {
  const test::failing_reads none(very_long, 0);
  const spool disk(small_spool(folder, three_blocks));
  return very_long - test::reads_before;
}

TEST_F(refused_spool, for_a_moment_at_the_start_costs_nothing) {
  const int reads = reads_of_a_start(folder_.path());
  for (int before = 0; before < reads; before += before < reads - 60 ? 97 : 1) {
    const test::failing_reads refused(before, moment);
    const spool disk(small_spool(folder_.path(), three_blocks));
    EXPECT_LT(test::reads_refused, moment) << before;
    const auto& found = disk.found();
    EXPECT_EQ(found.blocks, last) << before;
    EXPECT_EQ(found.damaged + found.torn_tails + found.unreadable + found.gone.size(), 0U)
        << before;
  }
  spool disk(small_spool(folder_.path(), three_blocks));
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, last), {}}));
}

TEST_F(refused_spool, for_good_keeps_its_segments_as_they_are) {
  std::vector<std::uintmax_t> sizes;
  for (std::uint64_t n = 1; n <= 3; ++n)
    sizes.push_back(fs::file_size(segment_path(folder_.path(), n)));
  {
    const test::failing_reads refused(reads_of_the_list, very_long);
    EXPECT_EQ(spool(small_spool(folder_.path(), three_blocks)).found().unreadable, 3U);
  }
  for (std::uint64_t n = 1; n <= 3; ++n)
    EXPECT_EQ(fs::file_size(segment_path(folder_.path(), n)), sizes[n - 1]) << n;
  const spool disk(small_spool(folder_.path(), three_blocks)); // the disk is whole again
  EXPECT_EQ(disk.found().blocks, last);
  EXPECT_TRUE(disk.found().gone.empty());
}

/// Written anew without what it held, the list would call blocks gone that were released since.
TEST_F(refused_spool, for_good_of_its_list_ends_the_start_and_leaves_the_list) {
  const fs::path list = fs::path(folder_.path()) / spool_releases_name;
  const test::bytes before = test::read_file(list);
  for (const int at : {0, 1, reads_of_the_list / 2, reads_of_the_list - 1}) {
    const test::failing_reads refused(at, very_long);
    EXPECT_THROW(spool(small_spool(folder_.path(), three_blocks)), std::runtime_error) << at;
  }
  EXPECT_EQ(test::read_file(list), before);
  EXPECT_EQ(spool(small_spool(folder_.path(), three_blocks)).found().blocks, last);
}

} // namespace
} // namespace l3
