// SPDX-License-Identifier: Apache-2.0
#include "tools/status/node_status.hpp"

#include <array>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/status/http_get.hpp"

namespace l3::test {
namespace {

constexpr std::string_view daemon = R"({"program":"koto-l3d","run":7,"node":3,"uptime":10.0,
  "state":{"now":"running","degraded":["crate_fault","spool_fills_up"],"ready":true},
  "troubles":[{"name":"spool_fills_up","severity":"warning","losing":"soon","seconds_left":7200,"share":0,
               "since":1.7e9,"who":"the shift","text":"the disk fills","action":"make room"},
              {"name":"crate_fault","severity":"critical","losing":"now","share":1,
               "text":"crate 11 is silent","action":"look at its power"}],
  "links":[{"link":0,"bytes":1000000},{"link":1,"bytes":500000}],"bytes":{"sent":300000},
  "crates":[{"crate":"3","fault":"loses","missing":5},{"crate":"11","fault":"silent","missing":60},
            {"crate":"12","fault":null,"missing":900}],
  "events":{"admitted":100},"spool":{"seconds_left":7200,"room":5000000000}})";

TEST(the_answer, does_not_wait_for_a_name_that_is_looked_up_for_ever) {
  const std::array urls{parse_url("node1", "/status")};
  const auto begin = std::chrono::steady_clock::now();
  const auto answers = http_get(urls, std::chrono::milliseconds(50), [](const std::string&) {
    std::this_thread::sleep_for(std::chrono::seconds(5)); // name servers that do not answer
    return found_addresses{};
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_TRUE(answers[0].failure.starts_with("no name server answers")) << answers[0].failure;
  const auto unknown = http_get(urls, std::chrono::seconds(5), [](const std::string&) {
    return found_addresses{{}, "Name or service not known"};
  });
  EXPECT_EQ(unknown[0].failure, "Name or service not known");
}

TEST(the_status_of_a_daemon, names_no_run_where_none_is_in_force) {
  std::string of = std::string(daemon);
  const std::string run = R"("run":7)";
  of.replace(of.find(run), run.size(), R"("run":0,"run_state":"configured")");
  const node_status s = read_status("node1:9420", of);
  EXPECT_FALSE(s.run);
  EXPECT_NE(table_of({{s, std::nullopt}}).find("running, critical    –"), std::string::npos)
      << table_of({{s, std::nullopt}});
}

TEST(the_status_of_a_daemon, that_waits_for_a_person_says_what_to_do) {
  const auto said = [](std::string_view state, std::string_view of_its_own) {
    const node_status s = read_status("node1", fmt::format(R"({{"program":"koto-l3d",
        "run_state":"{0}",{1}"state":{{"now":"{0}","degraded":[],"ready":false}}}})",
                                                           state, of_its_own));
    return table_of({{s, {}}});
  };
  EXPECT_NE(said("configured", "").find("note, waits: no run is active"), std::string::npos);
  EXPECT_NE(said("armed", "").find("pause of the beam"), std::string::npos);
  EXPECT_EQ(said("draining", "").find("waits"), std::string::npos);
  const std::string of_other_version =
      said("configured", R"("problem":{"name":"spool_full","text":"Make room."},)");
  EXPECT_NE(of_other_version.find("node1: warning, spool_full: Make room.; open its page\n"),
            std::string::npos)
      << of_other_version;
}

TEST(the_status, is_good_with_notes_only) {
  const auto good = [](std::string_view how_bad) {
    return read_status("node1", fmt::format(R"({{"program":"koto-l3d","state":{{"ready":true}},
        "troubles":[{{"name":"duplicates","severity":"{}"}}]}})",
                                            how_bad))
        .good();
  };
  EXPECT_TRUE(good("note"));
  EXPECT_FALSE(good("warning"));
  EXPECT_FALSE(good("critical"));
  EXPECT_FALSE(good("of a later version"));
}

TEST(the_status_of_a_daemon, is_a_row) {
  const node_status s = read_status("node1:9420", daemon);
  EXPECT_EQ(s.failure, "");
  EXPECT_EQ(s.run, 7U);
  EXPECT_EQ(s.worst_crate, "11: silent, 1 more");
  EXPECT_FALSE(s.good());
  node_status later = s;
  later.uptime += 2;
  later.events += 200;
  later.bytes_in += 4e6;
  EXPECT_FALSE(rates_between(s, s));
  EXPECT_FALSE(rates_between(later, s)) << "of another start";
  node_status of_next_run = later;
  of_next_run.session = "another";
  EXPECT_FALSE(rates_between(s, of_next_run)) << "its counts began at 0";
  const auto rates = rates_between(s, later);
  ASSERT_TRUE(rates);
  EXPECT_EQ(
      table_of({{later, rates}}),
      "address     node  state              run  events/s  in MB/s  out MB/s  worst crate    "
      "     disk\n"
      "node1:9420     3  running, critical    7       100      2.0       0.0  11: silent, 1 "
      "more  full in 2 h 0 min\n"
      "node1:9420: critical, crate_fault, losing 100 % of the events: crate 11 is silent; look "
      "at its power\n"
      "node1:9420: warning, spool_fills_up, 2 h 0 min left: the disk fills; "
      "make room\n");
  const auto json = json_of({{later, rates}});
  EXPECT_EQ(json.at("good"), false);
  EXPECT_EQ(json.at("nodes").at(0).at("events_per_second"), 100.0);
  EXPECT_EQ(json.at("nodes").at(0).at("disk_seconds_left"), 7200.0);
}

TEST(the_status_of_a_receiver, is_a_row) {
  const node_status s = read_status("store:9421", R"({"program":"koto-l3 receive","uptime":1,
    "state":{"text":"receiving","degraded":[],"store_error":"","ready":1},"events":5,"bytes":10,
    "disk":{"free":2000000000},"daemons":[{"node":"3","connected":1},{"node":"4","connected":0}]})");
  EXPECT_EQ(s.state, "receiving, 1 of 2 daemons");
  EXPECT_TRUE(s.good());
  EXPECT_NE(table_of({{s, {}}}).find("2.0 GB"), std::string::npos);
}

} // namespace
} // namespace l3::test
