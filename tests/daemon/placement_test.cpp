// SPDX-License-Identifier: Apache-2.0
// On a machine of files with two NUMA nodes, from threads that end with the test.
#include "daemon/placement.hpp"

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "tests/gpu/memory/fake_machine.hpp"
#include "transport/format/number_list.hpp"

namespace l3 {
namespace {

using list = std::vector<int>;

std::set<std::string> eth0(const std::string& /*bind*/) { return {"eth0"}; }

class placement : public ::testing::Test {
protected:
  placement() { machine_.write("sys/devices/system/node/node0/cpulist", "1020-1021\n"); }

  /// The sentence, in a thread that is then placed; `look` runs in that thread afterwards.
  std::string place(
      const find_interfaces& interfaces = eth0, const std::function<void()>& look = [] {}) {
    std::string text;
    std::jthread([&] {
      try {
        text = place_threads(settings_, machine_.topology, interfaces);
      } catch (const std::runtime_error& e) {
        text = std::string("refused: ") + e.what();
      }
      look();
    }).join();
    return text;
  }
  [[nodiscard]] bool says(const std::string& text, const std::string& part) const {
    return text.find(part) != text.npos;
  }

  test::fake_machine machine_;
  daemon_settings settings_;
  const list any_ = allowed_processors();
  const std::string here_ = std::to_string(machine_.here);
};

TEST_F(placement, puts_input_and_output_on_the_cards_node_and_leaves_other_threads_free) {
  const std::string text = place(eth0, [&] { EXPECT_EQ(allowed_processors(), any_); });
  EXPECT_TRUE(says(text, "input and output run on processors " + here_ + " (NUMA node 1 of eth0)"))
      << text;
  EXPECT_TRUE(says(text, "other threads on " + show_number_list(any_))) << text;
  EXPECT_EQ(settings_.node.input, list{machine_.here});
}

TEST_F(placement, leaves_the_processors_of_interrupts_free_if_enough_are_left) {
  if (any_.size() < 2) GTEST_SKIP() << "one processor";
  machine_.write("sys/devices/system/node/node1/cpulist", "0-1023\n");
  machine_.interrupts("eth0", "31", here_);
  settings_.tcp.bind.clear();
  settings_.udp.threads = static_cast<std::uint16_t>(any_.size());
  EXPECT_FALSE(says(place(), "interrupts"));
  EXPECT_EQ(settings_.node.input, any_);
  --settings_.udp.threads;
  EXPECT_TRUE(says(place(), "without those that serve its interrupts"));
  EXPECT_EQ(settings_.node.input, without(any_, list{machine_.here}));
}

TEST_F(placement, does_nothing_on_one_node_or_if_the_card_is_unknown) {
  EXPECT_TRUE(says(place([](const std::string&) { return std::set<std::string>{"lo"}; }),
                   "node.processors can choose"));
  machine_.write("sys/class/net/eth1/device/numa_node", "2\n");
  EXPECT_TRUE(says(place([](const std::string&) {
                     return std::set<std::string>{"eth0", "eth1"};
                   }),
                   "node.processors can choose"))
      << "cards on two nodes";
  std::filesystem::remove_all(machine_.root / "sys/devices/system/node/node0");
  EXPECT_EQ(place(), "one NUMA node, all threads run on processors " + show_number_list(any_));
  EXPECT_EQ(settings_.node.input, list{});
}

TEST_F(placement, runs_all_threads_on_the_given_processors) {
  settings_.node.processors = {machine_.here};
  const std::string text =
      place(eth0, [&] { EXPECT_EQ(allowed_processors(), list{machine_.here}); });
  EXPECT_TRUE(text.starts_with("all threads run on processors " + here_ + "; ")) << text;
  EXPECT_TRUE(says(text, "from node 1")) << text;
  settings_.node.processors.push_back(1023);
  EXPECT_TRUE(says(place(), "because this process may not use 1023 of node.processors"));
}

TEST_F(placement, refuses_processors_that_the_process_may_not_use) {
  settings_.node.processors = {1023};
  EXPECT_TRUE(says(place(), "refused: node.processors = \"1023\": this process may run only on " +
                                show_number_list(any_)));
}

} // namespace
} // namespace l3
