// SPDX-License-Identifier: Apache-2.0
#include "selection/sequence/plan.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/error_of.hpp"

namespace l3::test {
namespace {

// Slots of one, two and three megabytes for every batch.
template <std::size_t megabytes>
std::size_t size(const batch_capacity&) {
  return megabytes << 20;
}
const slot_info waves{"waves", &size<1>};
const slot_info peaks{"peaks", &size<2>};
const slot_info groups{"groups", &size<3>};
const slot_info answers{"answers", &size<1>};

const std::vector<algorithm_info> registry{
    {"read", {}, {waves}},
    {"find", {waves}, {peaks}},
    {"group", {peaks}, {groups}},
    {"answer", {groups}, {answers}},
    {"answer_quickly", {peaks}, {answers}},
    {"correct", {answers, waves}, {}},
};

sequence_plan plan(const std::vector<std::string>& names) {
  return plan_sequence(names, registry, {}, "answers");
}

std::string refusal(const std::vector<std::string>& names) {
  return error_of([&] { return plan(names); });
}

bool share_memory(const sequence_plan& p, std::string_view one, std::string_view other) {
  const auto& a = p.at(one);
  const auto& b = p.at(other);
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

TEST(sequence_plan, runs_the_algorithms_in_the_order_of_their_names) {
  EXPECT_EQ(plan({"read", "find", "group", "answer"}).steps,
            (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(plan({"read", "find", "answer_quickly"}).steps, (std::vector<std::size_t>{0, 1, 4}));
}

TEST(sequence_plan, keeps_a_slot_from_its_writer_to_its_last_reader) {
  const auto p = plan({"read", "find", "group", "answer", "correct"});
  EXPECT_EQ(p.at("waves").first_step, 0U);
  EXPECT_EQ(p.at("waves").last_step, 4U);
  EXPECT_EQ(p.at("peaks").last_step, 2U);
  EXPECT_EQ(p.at("groups").first_step, 2U);
  EXPECT_EQ(p.at("groups").last_step, 3U);
}

TEST(sequence_plan, lets_slots_share_memory_only_if_their_times_do_not_overlap) {
  const auto p = plan({"read", "find", "group", "answer"});
  EXPECT_TRUE(share_memory(p, "waves", "groups"));
  EXPECT_FALSE(share_memory(p, "waves", "peaks"));
  EXPECT_FALSE(share_memory(p, "peaks", "groups"));
  EXPECT_EQ(p.bytes, std::size_t{5} << 20);
  const auto longer = plan({"read", "find", "group", "answer", "correct"});
  EXPECT_FALSE(share_memory(longer, "waves", "groups"));
}

TEST(sequence_plan, leaves_out_of_the_arena_what_is_handed_out) {
  const auto p = plan({"read", "find", "answer_quickly"});
  EXPECT_TRUE(p.at("answers").handed_out);
  EXPECT_EQ(p.bytes, std::size_t{3} << 20);
}

TEST(sequence_plan, aligns_slots) {
  const slot_info odd{"odd", [](const batch_capacity&) { return std::size_t{(1 << 20) + 3}; }};
  const slot_info even{"even", &size<1>};
  const std::vector<algorithm_info> two{{"first", {}, {odd, even}},
                                        {"last", {odd, even}, {answers}}};
  const auto p = plan_sequence(std::vector<std::string>{"first", "last"}, two, {}, "answers");
  EXPECT_EQ(p.at("even").offset, (1 << 20) + region::alignment);
}

TEST(sequence_plan, says_what_is_wrong_with_the_wiring_and_what_to_do) {
  EXPECT_EQ(refusal({"read", "group", "answer"}),
            "sequence: `group` reads `peaks`, which no earlier step writes; `find` does");
  EXPECT_EQ(refusal({"read", "find", "answer_quickly", "answer"}),
            "sequence: `answer` reads `groups`, which no earlier step writes; `group` does");
  EXPECT_EQ(refusal({"read", "find", "answer_quickly", "find"}),
            "sequence: `find` writes `peaks` a second time; `find` did before");
  EXPECT_EQ(refusal({"read", "find"}), "sequence: nothing writes `answers`; `answer` or "
                                       "`answer_quickly` does");
  EXPECT_EQ(refusal({"reed"}), "sequence: there is no algorithm `reed`; there are: read, find, "
                               "group, answer, answer_quickly, correct");
  EXPECT_EQ(refusal({}), "sequence: nothing writes `answers`; `answer` or `answer_quickly` does");
}

} // namespace
} // namespace l3::test
