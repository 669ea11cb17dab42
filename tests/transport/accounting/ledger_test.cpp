// SPDX-License-Identifier: Apache-2.0
#include "transport/accounting/ledger.hpp"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

namespace l3 {
namespace {

ledger arbitrary_ledger() {
  const auto number = [] { return *rc::gen::inRange<std::uint64_t>(0, 1ULL << 53); };
  ledger l;
  l.program = *rc::gen::element<std::string>("koto-l3d", "replay", "receive");
  l.run = *rc::gen::arbitrary<std::uint32_t>();
  if (l.program == "koto-l3d") l.sessions = {number()};
  if (l.program == "receive") l.sessions = *rc::gen::arbitrary<std::vector<std::uint64_t>>();
  l.clean = *rc::gen::arbitrary<bool>();
  l.ended = l.clean || *rc::gen::arbitrary<bool>();
  if (l.program == "koto-l3d" && *rc::gen::arbitrary<bool>()) l.recorded = number();
  if (l.program == "koto-l3d" && *rc::gen::arbitrary<bool>()) l.missing = number();
  if (l.program == "koto-l3d" && l.clean) {
    l.sessions.push_back(number());
    l.spool = {number(), number(), number(), {{number(), number(), number()}, {number(), 0, 0}}};
  }
  l.fragments = {number(), number(), number(), {{"truncated", number()}, {"wrong_slot", 0}},
                 number(), number()};
  l.events = {number(), number(), number(), {{"drain", number()}}, number()};
  l.datagrams = {number(), number(), number(), number(),
                 number(), number(), number(), {{"too_short", number()}}};
  l.bytes = {number(), number(), {{"all", number()}, {"suppressed", number()}}};
  l.spills.push_back({3, number(), number(), number()});
  l.spills.push_back({4, number(), number(), std::nullopt});
  l.earlier_spills = {number(), number(), number()};
  return l;
}

RC_GTEST_PROP(ledger, comes_back_from_json, ()) {
  const ledger l = arbitrary_ledger();
  RC_ASSERT(ledger_from_json(to_json(l)) == l);
}

template <class Reason>
void expect_in(const std::string& page) {
  for (const std::string_view name : names_of<Reason>)
    EXPECT_NE(page.find("`" + std::string(name) + "`"), page.npos) << name;
}

TEST(ledger, has_each_reason_on_the_page_of_the_formats) {
  std::ifstream file(L3_SOURCE_DIR "/docs/formats.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  expect_in<refused>(page);
  expect_in<malformed>(page);
  expect_in<shed>(page);
}

/// Counters of a run in which every outcome occurred and was counted.
struct run_counters {
  input_counters inputs[2];
  building_counters building;
  outcome_counters outcomes;

  run_counters() {
    for (auto& input : inputs) {
      input.datagrams.add(50);
      input.bytes.add(4000);
      input.kernel_drops.add(1);
      input.refused.add(refused::too_short, 2);
    }
    building.fragments_seen.add(2, 40);
    building.fragments_admitted.add(2, 30);
    building.fragments_incomplete.add(2, 4);
    building.fragments_malformed.add(2, malformed::wrong_slot, 3);
    building.fragments_late.add(2, 2);
    building.fragments_duplicate.add(2, 1);
    building.fragments_missing.add(2, 4);
    building.events_admitted.add(15);
    outcomes.events_rejected.add(2);
    outcomes.events_shed.add(shed::engine, 1);
    outcomes.packed_bytes.add(event_payload::all, 800);
    outcomes.packed_bytes.add(event_payload::suppressed, 100);
  }

  [[nodiscard]] ledger account(std::uint64_t in_flight) const {
    ledger l;
    l.program = "koto-l3d";
    for (const auto& input : inputs) add_input(l, input);
    set_building(l, building);
    set_crates(l, building, readout::koto());
    set_outcomes(l, outcomes);
    l.events.forwarded = 10;
    l.events.in_flight = in_flight;
    return l;
  }
};

std::string replaced(std::string text, std::string_view part, std::string_view by) {
  EXPECT_NE(text.find(part), text.npos) << part;
  return text.replace(text.find(part), part.size(), by);
}

TEST(ledger, is_made_of_the_counters) {
  const ledger l = run_counters().account(2);
  EXPECT_TRUE(l.balanced());
  EXPECT_EQ(l.datagrams.received, 100U);
  EXPECT_EQ(l.datagrams.kernel_drops, 2U);
  EXPECT_EQ(l.datagrams.malformed.at("too_short"), 4U);
  EXPECT_EQ(l.fragments.malformed.at("wrong_slot"), 3U);
  EXPECT_EQ(l.events.shed.at("engine"), 1U);
  EXPECT_EQ(l.bytes.in, 8000U);
  EXPECT_EQ(l.bytes.out, 900U);
  EXPECT_FALSE(run_counters().account(1).balanced());
  EXPECT_FALSE(run_counters().account(3).balanced());
  run_counters run;
  run.building.fragments_seen.add(2, 1);
  EXPECT_FALSE(run.account(2).balanced());
}

/// What is said of a good ledger with `part` replaced; empty if it is taken.
std::string refusal_with(const std::string& part, const std::string& by) {
  try {
    (void)ledger_from_json(replaced(to_json(run_counters().account(2)), part, by));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(ledger, that_no_program_writes_is_refused) {
  for (const char* text : {"", "{}", "[]", "{\"ledger\": 2}", "not json"})
    EXPECT_THROW((void)ledger_from_json(text), std::runtime_error) << text;
  const auto engine = [](const std::string& by) { return refusal_with(R"("engine":1)", by); };
  for (const char* none : {"18446744073709551616", "-1", "1.5", "1e300", "\"1\"", "null", "[1]"})
    EXPECT_NE(engine(std::string(R"("engine":)") + none), "") << none;
  EXPECT_EQ(refusal_with("koto-l3d", "none"),
            "not a ledger: no program that writes ledgers wrote it");
  EXPECT_NE(refusal_with(R"(,"duplicate":1)", ""), "") << "a key is missing";
  EXPECT_NE(refusal_with(R"("admitted":15)", R"("admitted":16)"), "") << "it does not balance";
  EXPECT_NE(refusal_with(R"("balanced": true)", R"("balanced": false)"), "") << "it does";
  EXPECT_NE(refusal_with(R"("clean": false)", R"("clean": true)"), "") << "it has not ended";
}

} // namespace
} // namespace l3
