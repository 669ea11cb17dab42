// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stored_events.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/store/store_files.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

using test::block_of;

void write_file(const test::fs::path& folder, std::uint64_t number,
                const std::vector<test::bytes>& blocks) {
  store_file_header head;
  head.number = number;
  test::bytes all(sizeof head);
  store(all.data(), head);
  for (const test::bytes& block : blocks) all.insert(all.end(), block.begin(), block.end());
  test::write_file(folder / store_file_name(number), all);
}

TEST(stored_settings, of_a_session_that_came_since_are_read_then) {
  const test::scratch_folder folder;
  write_file(folder.path(), 1, {block_of(1), block_of(2)});
  interrupt signals;
  stored_settings settings(folder.path(), signals);
  block_header header;
  test::bytes late = block_of(1, test::session + 1);
  ASSERT_EQ(check_block(late, header), block_fault::none);
  EXPECT_NE(settings.of(header).fault.find("the settings of its session are missing"),
            std::string::npos);

  late = block_of(1, test::session + 2);
  ASSERT_EQ(check_block(late, header), block_fault::none);
  late = with_settings(late, header, test::bytes(32));
  write_file(folder.path(), 3, {late});
  EXPECT_NE(settings.of(header).fault.find("another version or are invalid"), std::string::npos)
      << "they are there, and were not when the folder was read";
}

} // namespace
} // namespace l3
