// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine_check.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "daemon/node.hpp"
#include "daemon/words.hpp"
#include "tests/tools/temporary_folder.hpp"
#include "tests/transport/outbox/spool_blocks.hpp"
#include "transport/outbox/spool.hpp"
#include "transport/outbox/spool_backlog.hpp"

namespace l3 {
namespace {

daemon_settings small() {
  daemon_settings s;
  s.udp.bind.clear();
  s.tcp.port = 0;
  s.forward.to = "tcp://127.0.0.1:1";
  s.spool.folder.clear();
  s.compute.dumps.clear();
  s.compute.where = backend::serial;
  s.building.max_events_per_spill = 1000;
  s.frames.count = 2;
  s.frames.events = 4;
  s.outbox.memory = mebibytes(16);
  return s;
}

void expect_what_a_node_takes(const daemon_settings& s) {
  const auto planned = memory_plan_of(s, {});
  const auto taken = node(s, "").memory_plan();
  ASSERT_EQ(planned.size(), taken.size());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(planned[i].what, taken[i].what);
    EXPECT_EQ(planned[i].bytes, taken[i].bytes) << taken[i].what;
  }
}

TEST(machine_check, knows_the_memory_of_a_node_before_it_is_made) {
  daemon_settings s = small();
  s.outbox.codec = codec_id::strong;
  expect_what_a_node_takes(s);
  s.outbox.codec = codec_id::koto;
  // Selection, shadow, histograms and spool.
  const std::string deploy = L3_SOURCE_DIR "/deploy/";
  s.selection.lines = deploy + "selection-suppressed.toml";
  s.selection.detector = deploy + "detector.toml";
  s.selection.shadow = deploy + "selection.toml";
  const temporary_folder folder;
  s.spool.folder = folder.path();
  s.spool.floor = {};
  expect_what_a_node_takes(s);
}

TEST(machine_check, does_not_know_what_an_earlier_daemon_left_on_disk_and_the_node_does) {
  daemon_settings s = small();
  const temporary_folder folder;
  s.spool.folder = folder.path();
  s.spool.floor = {};
  constexpr std::size_t payload = 32 << 20;
  {
    spool disk(s.spool);
    ASSERT_FALSE(disk.append(test::spool_block(1, 1, payload)));
  }
  const auto bytes_of = [](const std::vector<memory_use>& plan) {
    return std::ranges::find(plan, "blocks on their way to and from disk", &memory_use::what)
        ->bytes;
  };
  const auto taken = node(s, "").memory_plan();
  const std::size_t own = s.outbox.block.bytes + largest_packed_event(s.building.crates) +
                          decided_by(s, std::nullopt).size();
  EXPECT_EQ(bytes_of(taken) - bytes_of(memory_plan_of(s, {})),
            spool_backlog::buffers * (payload - own));
}

TEST(machine_check, counts_the_tables_of_event_building_and_host_memory_for_each_device) {
  daemon_settings s = small();
  const std::uint64_t few = sum_of(memory_plan_of(s, {}));
  EXPECT_LT(sum_of(memory_plan_of(s, {1, "", 0, 0})), few) << "no memory of devices";
  EXPECT_GT(sum_of(memory_plan_of(s, {2, "", 0, 0})), few);
  s.building.max_events_per_spill = 16'777'216;
  EXPECT_GE(sum_of(memory_plan_of(s, {})), few + std::uint64_t{2'000'000'000});
  const std::string wrong = wrong_with_memory(s, {}, {1'000'000'000, "this machine"});
  EXPECT_TRUE(wrong.ends_with("lower building.max_events_per_spill")) << wrong;
}

TEST(machine_check, names_what_takes_most) {
  daemon_settings s;
  const std::uint64_t needed = sum_of(memory_plan_of(s, {}));
  EXPECT_EQ(wrong_with_memory(s, {}, {needed, "this machine"}), "");
  const std::string few = wrong_with_memory(s, {}, {needed - 1, "this machine"});
  EXPECT_TRUE(few.ends_with("lower frames.count and frames.events")) << few;
  EXPECT_NE(few.find("and this machine has " + size_in_words(needed - 1)), few.npos) << few;
  s.outbox.memory = mebibytes(1024 * 1024);
  const std::string much = wrong_with_memory(s, {}, {16'000'000'000, "the control group /a"});
  EXPECT_TRUE(much.ends_with("lower outbox.memory")) << much;
  EXPECT_NE(much.find("needs 1122"), much.npos) << much;
}

} // namespace
} // namespace l3
