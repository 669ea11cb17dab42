// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine_check.hpp"

#include <gtest/gtest.h>

#include "daemon/node.hpp"

namespace l3 {
namespace {

std::uint64_t sum_of(const std::vector<memory_use>& all) {
  std::uint64_t sum = 0;
  for (const memory_use& use : all) sum += use.bytes;
  return sum;
}

TEST(machine_check, expects_no_more_memory_than_a_node_takes_and_not_much_less) {
  daemon_settings s;
  s.udp.bind.clear();
  s.tcp.port = 0;
  s.forward.to = "tcp://127.0.0.1:1";
  s.spool.folder.clear();
  s.compute.dumps.clear();
  s.compute.where = backend::serial;
  s.building.max_events_per_spill = 1000;
  s.outbox.memory = mebibytes(16);
  for (const codec_id codec : {codec_id::koto, codec_id::strong}) {
    s.outbox.codec = codec;
    const node n(s, "");
    const auto taken = sum_of(n.memory_plan());
    EXPECT_LE(sum_of(least_memory(s)), taken);
    EXPECT_GE(sum_of(least_memory(s)), taken - taken / 4);
  }
}

TEST(machine_check, names_what_takes_most) {
  daemon_settings s;
  const std::uint64_t needed = sum_of(least_memory(s));
  EXPECT_EQ(wrong_with_memory(s, {needed, "this machine"}), "");
  const std::string few = wrong_with_memory(s, {needed - 1, "this machine"});
  EXPECT_TRUE(few.ends_with("lower frames.count and frames.events")) << few;
  EXPECT_NE(few.find("and this machine has 0.7 GB"), few.npos) << few;
  s.outbox.memory = mebibytes(1024 * 1024);
  const std::string much = wrong_with_memory(s, {16'000'000'000, "the control group /a"});
  EXPECT_TRUE(much.ends_with("lower outbox.memory")) << much;
  EXPECT_NE(much.find("needs 1100.0 GB"), much.npos) << much;
}

TEST(machine_check, doubts_folders_that_are_none_and_addresses_of_other_machines) {
  daemon_settings s;
  s.udp.bind.clear();
  s.tcp.bind = "203.0.113.1";
  s.forward.from = {{"127.0.0.1", {}}, {"203.0.113.2", {}}, {"2001:db8::1", {}}};
  s.monitor.bind.clear();
  s.spool.folder = "/dev/null/spool";
  s.run.ledger = "ledger.json";
  s.compute.dumps.clear();
  const auto doubts = doubts_about_start(s);
  ASSERT_GE(doubts.size(), 4U);
  EXPECT_TRUE(doubts[0].starts_with("tcp.bind: 203.0.113.1 port 42100: ")) << doubts[0];
  EXPECT_EQ(doubts[1], "forward.from: no network card of this machine has 203.0.113.2");
  EXPECT_EQ(doubts[2], "forward.from: no network card of this machine has 2001:db8::1");
  EXPECT_EQ(doubts[3], "spool.folder: /dev/null is no folder");
}

TEST(machine_check, doubts_a_name_without_an_address) {
  daemon_settings s;
  s.udp.bind = "no such name"; // a blank: no name server is asked
  const auto doubts = doubts_about_start(s);
  ASSERT_FALSE(doubts.empty());
  EXPECT_TRUE(doubts[0].starts_with("udp.bind: no such name has no address here: ")) << doubts[0];
}

} // namespace
} // namespace l3
