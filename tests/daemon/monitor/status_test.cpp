// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/status.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include <boost/json.hpp>

#include "tests/daemon/monitor/sample_snapshot.hpp"

namespace l3 {
namespace {

boost::json::value status_of(const metrics_snapshot& s) {
  return boost::json::parse(render_status(s));
}

// All that programs read; a part that changes here belongs into CHANGELOG.md.
TEST(status, of_the_sample_is_the_one_that_is_kept) {
  std::ifstream file(L3_SOURCE_DIR "/tests/daemon/monitor/sample_status.json");
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  metrics_snapshot s = sample_snapshot();
  s.this_spill = {60, 5, 30, 20, 10, true};
  s.run.crates_without_run = {4, 11};
  s.latest_spills = {{7, 100, 0, 100}, {8, 90, 10, {}}, {9, 60, 5, {}}};
  s.spill_outcomes = {std::nullopt, spill_counts{60, 5, 30, 20, 10, true}};
  s.rates = {{"datagrams", 1002}, {"admitted", 34000.5}};
  s.lines[0].refused.clear();
  boost::json::value status = status_of(s);
  EXPECT_EQ(status, boost::json::parse(kept)) << render_status(s);
}

TEST(status, says_so_where_a_part_is_not_there) {
  const boost::json::value status = status_of({});
  for (const char* part : {"spool", "hot_inputs", "inputs_changed", "problem"})
    EXPECT_TRUE(status.at(part).is_null()) << part;
  EXPECT_TRUE(status.at("lines").as_array().empty());
}

TEST(status, names_the_problem_and_lists_few_inputs) {
  metrics_snapshot s = sample_snapshot();
  s.hot_inputs = std::vector<std::string>(4000, "0/3/7");
  EXPECT_EQ(status_of(s).at("hot_inputs").as_array().size(), 100U);
  EXPECT_EQ(status_of(s).at("problem").at("name"), "receiver_absent");
}

TEST(status, the_page_loads_nothing_from_elsewhere_and_escapes_what_it_shows) {
  metrics_snapshot s = sample_snapshot();
  s.device = "</script><script>alert(1)";
  s.receiver = "tcp://10.0.0.1:42200";
  const std::string page = render_page(s);
  EXPECT_EQ(page.find("</script><script>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003cscript>alert(1)"), std::string::npos);
  for (const char* loaded : {"src=", "@import", "url(", "href=\"http"})
    EXPECT_EQ(page.find(loaded), std::string::npos) << loaded;
  EXPECT_LT(page.size(), 300'000U);
  for (const char* link : {"/metrics", "/status", "/healthz", "/readyz"}) {
    EXPECT_NE(page.find("href=\"" + std::string(link) + "\""), std::string::npos) << link;
  }
}

TEST(monitor_pages, health_and_readiness_follow_threads_and_state) {
  daemon_state state;
  std::string stuck;
  const http_pages pages = monitor_pages(
      sample_snapshot, [&] { return state.report(); }, [&] { return stuck; });
  EXPECT_EQ(pages.at("/healthz")().status, 200U);
  EXPECT_EQ(pages.at("/readyz")().status, 503U);
  EXPECT_EQ(*pages.at("/readyz")().body, "configured; critical: receiver_absent\n");
  state.enter(phase::receiving);
  EXPECT_EQ(pages.at("/readyz")().status, 200U);
  state.engine_failed();
  EXPECT_EQ(pages.at("/readyz")().status, 503U);
  stuck = "drain";
  EXPECT_EQ(pages.at("/healthz")().status, 503U);
  EXPECT_EQ(*pages.at("/healthz")().body, "no progress: drain\n");
}

TEST(monitor_pages, have_the_chart_of_rates_and_the_runbook_as_html) {
  metrics_snapshot s;
  s.uptime = 1;
  s.history = {{34000.4, 1200, 0}, {0.25, 0, 7}};
  const http_pages pages =
      monitor_pages([&] { return s; }, [] { return state_report{}; }, [] { return std::string(); });
  EXPECT_EQ(*pages.at("/history")().body, R"({"step":5,"points":[[34000.4,1200,0],[0.25,0,7]]})");
  const std::string runbook = *pages.at("/runbook")().body;
  EXPECT_TRUE(runbook.starts_with("<!DOCTYPE html>"));
  EXPECT_NE(runbook.find("\n### spool_full\n"), std::string::npos);
  EXPECT_EQ(runbook.find("@L3_"), std::string::npos);
}

TEST(monitor_pages, many_viewers_share_what_was_made_of_a_snapshot) {
  metrics_snapshot s = sample_snapshot();
  state_report state{phase::receiving, {}};
  const http_pages pages =
      monitor_pages([&] { return s; }, [&] { return state; }, [] { return std::string(); });
  const std::string first = *pages.at("/status")().body;
  s.node = 99; // no snapshot changes without its time
  EXPECT_EQ(*pages.at("/status")().body, first);
  EXPECT_EQ(pages.at("/status")().body->data(), pages.at("/status")().body->data()) << "a copy";
  s.uptime += 0.5;
  EXPECT_NE(*pages.at("/status")().body, first);
  const std::string second = *pages.at("/status")().body;
  state.now = phase::stopped;
  EXPECT_NE(*pages.at("/status")().body, second) << "the state is that of the moment";
  EXPECT_NE(pages.at("/metrics")().body->find("koto_l3_state{state=\"stopped\"} 1"),
            std::string::npos);
}

} // namespace
} // namespace l3
