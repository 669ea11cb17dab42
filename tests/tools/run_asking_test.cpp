// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "tools/run/run_words.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

json::object status(std::string_view changes = "{}") {
  json::object s = json::parse(R"({"state": "configured", "current": null, "next": null,
    "stopping": false, "failure": null, "last": null, "datagrams_without_run": 0, "farm": null})")
                       .as_object();
  const json::value changed = json::parse({changes.data(), changes.size()});
  for (const auto& [key, value] : changed.as_object()) s[key] = value;
  return s;
}

/// "waits", "" or the failure.
std::string outcome(const std::optional<run_outcome>& o) { return o ? o->failure : "waits"; }
std::string start(std::string_view s) { return outcome(outcome_of_start(status(s), 8)); }
std::string stop(std::string_view s) { return outcome(outcome_of_stop(status(s), 8)); }

TEST(an_answer_of_run_control, tells_what_became_of_a_start) {
  EXPECT_EQ(start(R"({"state": "armed", "next": {"number": 8}})"), "waits");
  EXPECT_EQ(start(R"({"state": "draining", "current": {"number": 7}, "next": {"number": 8}})"),
            "waits");
  EXPECT_EQ(start(R"({"state": "running", "current": {"number": 8}})"), "");
  EXPECT_EQ(start(R"({"state": "draining", "current": {"number": 8}})"), "waits");
  EXPECT_EQ(start(R"({"last": {"number": 8, "well": true}})"), "");
  EXPECT_EQ(start(R"({"failure": "no memory"})"), "run 8 did not begin: no memory");
  EXPECT_EQ(start(R"({"failure": "no room", "last": {"number": 8, "well": false}})"),
            "run 8 did not begin: no room");
  const std::string other = "run 8 did not begin: it was stopped, or another one took its place";
  EXPECT_EQ(start("{}"), other);
  EXPECT_EQ(start(R"({"state": "armed", "next": {"number": 9}})"), other);
  EXPECT_EQ(start(R"({"state": "running", "current": {"number": 7}})"), other);
}

TEST(an_answer_of_run_control, tells_what_became_of_a_stop) {
  EXPECT_EQ(stop(R"({"state": "running", "stopping": true, "current": {"number": 8}})"), "waits");
  EXPECT_EQ(stop(R"({"state": "draining", "current": {"number": 8}})"), "waits");
  EXPECT_EQ(stop(R"({"last": {"number": 8, "well": true}})"), "");
  EXPECT_EQ(stop(R"({"state": "running", "current": {"number": 9},
                     "last": {"number": 8, "well": true}})"),
            "");
  EXPECT_EQ(stop(R"({"last": {"number": 8, "well": false}})"),
            "run 8 did not end well: see the daemon's log");
}

/// Of a farm of two nodes; the changes are to the farm and its second node.
json::object of_farm(std::string_view farm, std::string_view second, std::string_view here) {
  json::object s = status(here);
  json::object f = json::parse(R"({"state": "joined", "text": "", "run": null, "order": null,
    "failure": ""})")
                       .as_object();
  json::value changes = json::parse({farm.data(), farm.size()});
  for (const auto& [key, value] : changes.as_object()) f[key] = value;
  json::object node = json::parse(R"({"node": 2, "stands": "in_order", "host": "n2",
    "state": "running", "run": 8, "failure": "", "not_well": null})")
                          .as_object();
  changes = json::parse({second.data(), second.size()});
  for (const auto& [key, value] : changes.as_object()) node[key] = value;
  f["nodes"] = json::array{std::move(node)};
  s["farm"] = std::move(f);
  return s;
}

TEST(an_answer_of_a_farm, tells_what_became_of_a_start_on_all_nodes) {
  const auto start = [](std::string_view farm, std::string_view second = "{}",
                        std::string_view here = "{}") {
    return outcome(outcome_of_start_of_all(of_farm(farm, second, here), 8));
  };
  const char* holds = R"({"run": {"number": 8}})";
  EXPECT_EQ(start(R"({"order": {"number": 8}})"), "waits");
  EXPECT_EQ(start("{}", "{}", R"({"next": {"number": 8}})"), "waits");
  EXPECT_EQ(start(holds), "");
  EXPECT_EQ(start(holds, R"({"stands": "apart", "state": "armed"})"), "waits");
  EXPECT_EQ(start(holds, R"({"stands": "apart", "failure": "no room"})"),
            "run 8 has begun, but node 2 does not follow: no room");
  EXPECT_EQ(start(holds, R"({"stands": "missing", "state": "", "run": null})"),
            "run 8 has begun, but node 2 is missing: it follows the farm when it is back");
  EXPECT_EQ(start(R"({"failure": "run 8: node 2 has left"})"),
            "run 8: node 2 has left: it did not begin on any node");
  const std::string again = R"({"run": {"number": 8}, "order": {"number": 8}})";
  EXPECT_EQ(start(again), "waits") << "it is to go on under its number";
  EXPECT_EQ(start(holds, "{}", R"({"next": {"number": 8}})"), "waits");
  EXPECT_EQ(start(R"({"run": {"number": 8}, "failure": "run 8: the beam did not pause"})"),
            "run 8: the beam did not pause: it did not begin on any node");
  EXPECT_EQ(start(R"({"run": {"number": 8}, "failure": "run 9: node 2 has left"})"), "")
      << "another order";
  EXPECT_EQ(start(R"({"run": {"number": 9}})"),
            "run 8 did not begin on any node: it was stopped, or another one took its place");
}

TEST(an_answer_of_a_farm, tells_what_became_of_a_stop_on_all_nodes) {
  const auto stop = [](std::string_view farm, std::string_view second = "{}",
                       std::string_view here = "{}") {
    return outcome(outcome_of_stop_of_all(of_farm(farm, second, here), 8));
  };
  EXPECT_EQ(stop(R"({"run": {"number": 8}})"), "waits");
  EXPECT_EQ(stop(R"({"run": {"number": 8}, "failure": "the stop: no pause"})"),
            "the stop: no pause");
  EXPECT_EQ(stop("{}", R"({"stands": "apart"})"), "waits");
  EXPECT_EQ(stop("{}", "{}", R"({"current": {"number": 8}})"), "waits");
  EXPECT_EQ(stop("{}"), "");
  EXPECT_EQ(stop("{}", R"({"not_well": 8})"),
            "the run has ended, but run 8 did not end well on node 2: see its log");
  EXPECT_EQ(stop("{}", R"({"not_well": 7})"), "") << "the one before";
  EXPECT_EQ(
      outcome(outcome_of_stop_of_all(of_farm("{}", R"({"not_well": 7})", "{}"), std::nullopt)), "")
      << "no run was in force";
  EXPECT_EQ(run_of_farm(of_farm(R"({"run": {"number": 0}})", "{}", "{}")), 0U);
  EXPECT_EQ(stop("{}", R"({"stands": "missing"})"),
            "the run has ended, but node 2 is missing: it follows the farm when it is back");
  const std::string table = table_of(of_farm(R"({"failure": "run 8: \u001b[2J"})", "{}", "{}"));
  EXPECT_NE(table.find("node 2 n2: running, run 8\n"), table.npos) << table;
  EXPECT_NE(table.find("run 8: ?[2J"), table.npos) << table;
}

} // namespace
} // namespace l3
