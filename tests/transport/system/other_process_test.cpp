// SPDX-License-Identifier: Apache-2.0
#include "transport/system/other_process.hpp"

#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/transport/store/packed_events.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {
namespace {

TEST(the_other_process, is_read_from_the_system_s_locks) {
  constexpr std::string_view locks = "1: FLOCK  ADVISORY  WRITE 31 fe:00:10 0 EOF\n"
                                     "2: POSIX  ADVISORY  WRITE 32 fe:00:11 0 EOF\n"
                                     "3: -> FLOCK  ADVISORY  WRITE 33 fe:00:11 0 EOF\n"
                                     "4: FLOCK  ADVISORY  WRITE 34 fe:00:11 0 EOF\n"
                                     "5: FLOCK  ADVISORY  WRITE 0 fe:00:12 0 EOF";
  EXPECT_EQ(lock_holder_in(locks, "fe:00:10"), 31);
  EXPECT_EQ(lock_holder_in(locks, "fe:00:11"), 34);
  EXPECT_FALSE(lock_holder_in(locks, "fe:00:12")) << "of a container";
  EXPECT_FALSE(lock_holder_in(locks, "fe:00:1"));
  for (const char* bad : {"", "\n", "FLOCK", "1: FLOCK A W x fe:00:10", "1: FLOCK A W 9x fe:00:10",
                          "1: FLOCK A W 99999999999 fe:00:10", "1: FLOCK A W -1 fe:00:10"})
    EXPECT_FALSE(lock_holder_in(bad, "fe:00:10")) << bad;
}

TEST(the_other_process, has_a_folder_locked) {
  const test::scratch_folder folder;
  EXPECT_FALSE(lock_holder(folder.path()));
  EXPECT_FALSE(lock_holder(folder.path() + "/none"));
  {
    const file_descriptor f(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(f.get(), LOCK_EX), 0);
    EXPECT_EQ(lock_holder(folder.path()), ::getpid());
  }
  EXPECT_FALSE(lock_holder(folder.path()));
}

} // namespace
} // namespace l3
