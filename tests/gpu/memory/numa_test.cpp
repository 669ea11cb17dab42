// SPDX-License-Identifier: Apache-2.0
// With a folder in the place of /sys: two nodes, a device on the second.
#include "gpu/memory/numa.hpp"

#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

#include "tests/tools/temporary_folder.hpp"

namespace l3 {
namespace {

using list = std::vector<int>;

struct fake_machine {
  fake_machine() {
    write("bus/pci/devices/0000:3b:00.0/numa_node", "1\n");
    write("bus/pci/devices/0000:3c:00.0/numa_node", "-1\n");
    write("devices/system/node/node0/cpulist", "0-1,4\n");
    write("devices/system/node/node1/cpulist", std::to_string(here) + "\n");
  }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }

  temporary_folder root;
  int here = sched_getcpu(); ///< a processor on which this test may run
  numa_topology topology{root.path().string()};
};

std::size_t processors() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return static_cast<std::size_t>(CPU_COUNT(&set));
}

TEST(numa, reads_lists_of_processors_and_refuses_anything_else) {
  EXPECT_EQ(read_cpu_list("0-3,8"), (list{0, 1, 2, 3, 8}));
  EXPECT_EQ(read_cpu_list("5"), list{5});
  EXPECT_EQ(read_cpu_list(""), list{});
  for (const char* text : {"-1", "3-1", "1,", ",1", "1-", "a", "0-99999", "1;2", "1--2"})
    EXPECT_EQ(read_cpu_list(text), list{}) << text;
  EXPECT_EQ(read_cpu_list("0-1023").size(), 1024U);
  EXPECT_EQ(read_cpu_list("0-1024"), list{});
}

TEST(numa, finds_the_node_of_a_device_and_its_processors) {
  const fake_machine m;
  EXPECT_EQ(m.topology.node_of("0000:3B:00.0"), 1) << "CUDA writes capitals";
  EXPECT_EQ(m.topology.processors_of(0), (list{0, 1, 4}));
  for (const char* unknown : {"0000:3c:00.0", "0000:ff:00.0", ""})
    EXPECT_EQ(m.topology.node_of(unknown), -1) << unknown;
  EXPECT_EQ(m.topology.processors_of(-1), list{});
  EXPECT_EQ(m.topology.processors_of(7), list{});
  m.write("bus/pci/devices/0000:3c:00.0/numa_node", "many");
  EXPECT_EQ(m.topology.node_of("0000:3c:00.0"), -1);
}

TEST(numa, stays_on_the_node_and_leaves_it_again) {
  std::jthread([] {
    const fake_machine m;
    const std::size_t before = processors();
    {
      const stay_on_node there(1, m.topology);
      EXPECT_EQ(processors(), 1U);
      EXPECT_EQ(sched_getcpu(), m.here);
    }
    EXPECT_EQ(processors(), before);
    const stay_on_node nowhere(-1, m.topology);
    EXPECT_EQ(processors(), before);
  });
}

TEST(numa, lets_threads_that_are_started_there_stay) {
  std::jthread([] {
    const fake_machine m;
    const std::size_t before = processors();
    std::jthread inner;
    std::size_t there = 0;
    {
      const stay_on near(m.topology.processors_of(1));
      inner = std::jthread([&] { there = processors(); });
    }
    inner.join();
    EXPECT_EQ(there, 1U);
    EXPECT_EQ(processors(), before);
  });
}

TEST(numa, leaves_a_thread_where_the_operator_put_it) {
  std::jthread([] {
    const int here = sched_getcpu();
    run_on(list{here});
    run_on(list{here + 1, here + 2});
    EXPECT_EQ(sched_getcpu(), here) << "none of these was allowed";
    run_on(list{here, here + 1});
    EXPECT_EQ(processors(), 1U);
  });
}

} // namespace
} // namespace l3
