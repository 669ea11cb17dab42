// SPDX-License-Identifier: Apache-2.0
// What a reader of a spool is told when blocks are in no segment that the notes beside the segments
// say were on disk, and what it is not told.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/store/store_files.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/spool.hpp"
#include "transport/store/event_index.hpp"

namespace l3::test {
namespace {

/// Three segments with two blocks each of the session, numbers 11 to 16.
struct three_segments {
  scratch_folder folder;

  three_segments() {
    for (std::uint64_t segment = 1; segment <= 3; ++segment)
      write_segment(segment, {9 + 2 * segment, 10 + 2 * segment});
  }
  [[nodiscard]] fs::path path() const { return folder.path(); }
  [[nodiscard]] fs::path segment(std::uint64_t number) const {
    return store_file_path(path(), number, store_kind::spool);
  }
  void write_segment(std::uint64_t number, std::initializer_list<std::uint64_t> sequences) const {
    store_file_header head;
    head.number = number;
    bytes all(sizeof head);
    store(all.data(), head);
    for (const std::uint64_t sequence : sequences) {
      const bytes block = block_of(sequence);
      all.insert(all.end(), block.begin(), block.end());
    }
    write_file(segment(number), all);
  }
  /// Beside an entry of another session in another place.
  void note(std::uint64_t released, std::uint32_t waiting, std::size_t place = 1023) const {
    bytes all(1025 * sizeof(spool_release));
    spool_release e;
    e.session = session + 1;
    e.sequence = 5;
    e.crc = header_crc(e);
    store(all.data(), e);
    e.session = session;
    e.sequence = released;
    e.waiting = waiting;
    e.crc = header_crc(e);
    store(all.data() + place * sizeof e, e);
    write_file(path() / spool_releases_name, all);
  }
  [[nodiscard]] std::vector<std::string> faults() const {
    return event_index(path()).file_faults();
  }
};

std::vector<std::string> lacks(const std::string& what) {
  return {"session 000000000000002a lacks " + what + " that released.kl3r says were on disk"};
}

TEST(expected_lanes, are_all_there) {
  const three_segments s;
  EXPECT_EQ(s.faults(), std::vector<std::string>()) << "nothing is noted";
  s.note(10, 6);
  EXPECT_EQ(s.faults(), std::vector<std::string>());
  s.note(13, 3);
  EXPECT_EQ(s.faults(), std::vector<std::string>()) << "released blocks stay in their segment";
  s.note(10, 0);
  EXPECT_EQ(s.faults(), std::vector<std::string>()) << "as version 0.1.0 notes it";
  s.note(~std::uint64_t{0}, 1);
  EXPECT_EQ(s.faults(), std::vector<std::string>()) << "no such number";
}

TEST(expected_lanes, that_lack_blocks_anywhere_are_told) {
  const three_segments s;
  s.note(10, 6);
  fs::remove(s.segment(2));
  EXPECT_EQ(s.faults(), lacks("2 blocks of the numbers 13 to 14"));
  EXPECT_EQ(event_index(s.path()).damaged(), 1U);
  fs::remove(s.segment(3));
  EXPECT_EQ(s.faults(), lacks("4 blocks of the numbers 13 to 16"));
  s.note(14, 2);
  EXPECT_EQ(s.faults(), lacks("2 blocks of the numbers 15 to 16"));
  s.note(16, 0);
  EXPECT_EQ(s.faults(), std::vector<std::string>()) << "all that is gone was released";
  s.note(9, 3);
  EXPECT_EQ(s.faults(), lacks("1 blocks of the numbers 10 to 10"));
  s.note(10, 2);
  s.write_segment(2, {11, 12});
  EXPECT_EQ(s.faults(), std::vector<std::string>()) << "a copy is no block more";
  s.note(10, 3);
  EXPECT_EQ(s.faults(), lacks("1 blocks of the numbers 13 to 13"));
}

TEST(expected_lanes, are_not_missed_where_a_daemon_releases_meanwhile) {
  const three_segments s;
  s.note(10, 8);
  store_reader reader(s.path());
  while (reader.next()) {
  }
  EXPECT_EQ(reader.file_faults(), lacks("2 blocks of the numbers 17 to 18"));
  s.note(18, 0);
  EXPECT_EQ(reader.file_faults(), std::vector<std::string>());
}

TEST(expected_lanes, are_as_many_as_there_are_places_and_need_no_notes_that_can_be_read) {
  const three_segments s;
  s.note(10, 9, 1023);
  EXPECT_EQ(s.faults().size(), 1U);
  s.note(10, 9, 1024);
  EXPECT_EQ(s.faults(), std::vector<std::string>()) << "another table lies behind the 1024 places";
  s.note(10, 9);
  bytes notes = read_file(s.path() / spool_releases_name);
  notes[1023 * sizeof(spool_release) + 16] ^= std::byte{1};
  write_file(s.path() / spool_releases_name, notes);
  EXPECT_EQ(s.faults(), std::vector<std::string>()) << "a damaged place says nothing";
  fs::remove(s.path() / spool_releases_name);
  fs::create_directory(s.path() / spool_releases_name);
  EXPECT_EQ(s.faults(), std::vector<std::string>());
}

} // namespace
} // namespace l3::test
