// SPDX-License-Identifier: Apache-2.0
// With a folder in the place of /proc and /sys.
#include "gpu/memory/numa.hpp"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/gpu/memory/fake_machine.hpp"

namespace l3 {
namespace {

using list = std::vector<int>;
using fake_machine = test::fake_machine;

std::size_t processors() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return static_cast<std::size_t>(CPU_COUNT(&set));
}

TEST(numa, finds_the_node_of_a_device_and_its_processors) {
  const fake_machine m;
  EXPECT_EQ(m.topology.node_of("0000:3B:00.0"), 1) << "CUDA writes capitals";
  EXPECT_EQ(m.topology.processors_of(0), (list{0, 1, 4}));
  for (const char* unknown : {"0000:3c:00.0", "0000:ff:00.0", ""})
    EXPECT_EQ(m.topology.node_of(unknown), -1) << unknown;
  EXPECT_EQ(m.topology.processors_of(-1), list{});
  EXPECT_EQ(m.topology.processors_of(7), list{});
  m.write("sys/bus/pci/devices/0000:3c:00.0/numa_node", "many");
  EXPECT_EQ(m.topology.node_of("0000:3c:00.0"), -1);
  list nodes = m.topology.nodes();
  std::ranges::sort(nodes);
  EXPECT_EQ(nodes, (list{0, 1}));
}

TEST(numa, finds_the_node_and_the_interrupts_of_a_network_card) {
  const fake_machine m;
  EXPECT_EQ(m.topology.node_of_card("eth0"), 1);
  EXPECT_EQ(m.topology.node_of_card("eth7"), -1);
  EXPECT_EQ(m.topology.interrupted_by("eth0"), list{});
  m.interrupts("eth0", "31", "0-1");
  EXPECT_EQ(m.topology.interrupted_by("eth0"), (list{0, 1}));
}

TEST(numa, gives_memory_its_former_policy_back) {
  std::jthread([] {
    const auto policy = [] {
      int now = -1;
      syscall(SYS_get_mempolicy, &now, nullptr, 0, nullptr, 0);
      return now;
    };
    const fake_machine m;
    if (!prefer_memory_of(0)) GTEST_SKIP() << "the system allows no policy of memory";
    { const stay_on_node there(0, m.topology); }
    EXPECT_EQ(policy(), MPOL_PREFERRED);
  });
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
