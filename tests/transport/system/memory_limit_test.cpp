// SPDX-License-Identifier: Apache-2.0
#include "transport/system/memory_limit.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/transport/store/packed_events.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;

/// What a kernel shows, in a folder.
class memory_limits : public ::testing::Test {
protected:
  void says(const std::string& file, const std::string& text) {
    const fs::path path = fs::path(root_.path()) / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] memory_limit lowest() const { return lowest_memory_limit(root_.path()); }

  test::scratch_folder root_;
};

TEST_F(memory_limits, are_those_of_a_group_of_version_2_and_of_all_above_it) {
  says("proc/meminfo", "MemTotal:       16000 kB\n");
  says("proc/self/cgroup", "0::/system.slice/koto-l3d.service\n");
  says("sys/fs/cgroup/system.slice/koto-l3d.service/memory.max", "max\n");
  EXPECT_EQ(lowest().whose, "this machine");
  says("sys/fs/cgroup/system.slice/memory.max", "5000000\n");
  EXPECT_EQ(lowest().bytes, 5'000'000U);
  EXPECT_EQ(lowest().whose, "the control group /system.slice");
  says("sys/fs/cgroup/system.slice/koto-l3d.service/memory.max", "4000000\n");
  EXPECT_EQ(lowest().whose, "the control group /system.slice/koto-l3d.service");
  // In a container the paths are those of the host, and the mounted tree begins at its own group.
  says("sys/fs/cgroup/memory.max", "3000000\n");
  EXPECT_EQ(lowest().bytes, 3'000'000U);
}

// In a container the paths are those of the host, and the mounted tree begins at its own group.
} // namespace
} // namespace l3
