// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/status.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/daemon/monitor/sample_snapshot.hpp"

namespace l3 {
namespace {

TEST(status, is_json_with_state_sums_and_latency) {
  metrics_snapshot s = sample_snapshot();
  s.state.has[static_cast<std::size_t>(trouble::receiver_absent)] = true;
  const boost::json::value status = boost::json::parse(render_status(s));
  EXPECT_EQ(status.at("state").at("now").as_string(), "receiving");
  EXPECT_EQ(status.at("state").at("ready").as_bool(), true);
  EXPECT_EQ(status.at("state").at("degraded").as_array().at(0).as_string(), "receiver_absent");
  EXPECT_EQ(status.at("session").as_string(), "0123456789abcdef");
  EXPECT_EQ(status.at("events").at("admitted").to_number<int>(), 100'000);
  EXPECT_EQ(status.at("events").at("shed").at("drain"), s.outcomes.events_shed[shed::drain]);
  EXPECT_EQ(status.at("events").at("unaccounted").to_number<int>(), 0);
  EXPECT_EQ(status.at("engine_failures"), s.engine.failures.sum());
  EXPECT_EQ(status.at("spool").at("room"), s.spool->room);
  EXPECT_NEAR(status.at("event_latency").at("p99").to_number<double>(), 0.099, 0.005);
}

TEST(status, says_what_became_of_the_events_of_this_spill) {
  metrics_snapshot s = sample_snapshot();
  s.this_spill = {60, 5, 30, 20, 10, true};
  const boost::json::value expected = {{"ended", true}, {"admitted", 60}, {"incomplete", 5},
                                       {"stored", 30},  {"rejected", 20}, {"shed", 10}};
  EXPECT_EQ(boost::json::parse(render_status(s)).at("this_spill"), expected);
}

TEST(status, names_the_problem_that_is_to_be_mended_first) {
  metrics_snapshot s = sample_snapshot();
  s.state.has = {};
  EXPECT_EQ(boost::json::parse(render_status(s)).at("problem").at("name").as_string(), "farm");
  s.farm.reset();
  EXPECT_TRUE(boost::json::parse(render_status(s)).at("problem").is_null());
  s.receiver = "tcp://10.0.0.1:42200";
  s.state.has[static_cast<std::size_t>(trouble::spilling)] = true;
  s.state.has[static_cast<std::size_t>(trouble::receiver_absent)] = true;
  const boost::json::value status = boost::json::parse(render_status(s));
  EXPECT_EQ(status.at("problem").at("name").as_string(), "receiver_absent");
  EXPECT_NE(
      status.at("problem").at("text").as_string().find("no receiver answers at tcp://10.0.0.1"),
      boost::json::string::npos);
}

TEST(status, tells_a_name_without_an_address_from_a_receiver_that_is_silent) {
  metrics_snapshot s;
  s.receiver = "tcp://10.0.0.1:42200";
  s.unknown = {"tcp://no.invalid:42200", "forward.from", "Name or service not known"};
  const auto text = [&] {
    return std::string(boost::json::parse(render_status(s)).at("problem").at("text").as_string());
  };
  s.state.has[static_cast<std::size_t>(trouble::receiver_absent)] = true;
  EXPECT_TRUE(text().starts_with("the name in tcp://no.invalid:42200 (forward.from) has no address "
                                 "on this machine: Name or service not known; "))
      << text();
  s.unknown.reset();
  EXPECT_TRUE(text().starts_with("no receiver answers at tcp://10.0.0.1:42200")) << text();
}

TEST(status, names_hot_inputs) {
  metrics_snapshot s = sample_snapshot();
  s.farm.reset();
  s.state.has = {};
  s.state.has[static_cast<std::size_t>(trouble::hot_inputs)] = true;
  boost::json::value status = boost::json::parse(render_status(s));
  EXPECT_EQ(status.at("hot_inputs"), (boost::json::array{"0/3/7", "12/4/0"}));
  EXPECT_TRUE(
      status.at("problem").at("text").as_string().starts_with("hot: 0/3/7, 12/4/0; pulses of"));
  s.hot_inputs = std::vector<std::string>(4000, "0/3/7");
  status = boost::json::parse(render_status(s));
  EXPECT_EQ(status.at("hot_inputs").as_array().size(), 100U);
  EXPECT_LT(status.at("problem").at("text").as_string().size(), 1000U);
  s.hot_inputs.reset();
  EXPECT_TRUE(boost::json::parse(render_status(s)).at("hot_inputs").is_null());
}

TEST(status, names_inputs_that_changed) {
  metrics_snapshot s = sample_snapshot();
  s.farm.reset();
  s.state.has = {};
  s.state.has[static_cast<std::size_t>(trouble::inputs_changed)] = true;
  boost::json::value status = boost::json::parse(render_status(s));
  EXPECT_EQ(status.at("inputs_changed"), 3);
  EXPECT_EQ(status.at("problem").at("name"), "inputs_changed");
  EXPECT_TRUE(status.at("problem").at("text").as_string().starts_with(
      "changed: 0/3/7, 0/3/8, 12/4/0 (noise); pedestal, noise"));
  s.state.has = {};
  s.state.has[static_cast<std::size_t>(trouble::histograms_changed)] = true;
  status = boost::json::parse(render_status(s));
  EXPECT_EQ(status.at("histograms_changed"), 1);
  EXPECT_TRUE(status.at("problem").at("text").as_string().starts_with(
      "changed: calorimeter_energy (mean 1323 MeV, now 910 MeV); these"));
  s.since_reference.reset();
  status = boost::json::parse(render_status(s));
  EXPECT_TRUE(status.at("inputs_changed").is_null());
}

TEST(status, lists_inputs_and_lines_in_their_order) {
  const metrics_snapshot s = sample_snapshot();
  const boost::json::value status = boost::json::parse(render_status(s));
  EXPECT_EQ(status.at("links").as_array().size(), 2U);
  EXPECT_EQ(status.at("links").at(1),
            boost::json::value({{"link", "tcp"},
                                {"datagrams", s.inputs[1].datagrams.get()},
                                {"bytes", s.inputs[1].bytes.get()},
                                {"kernel_drops", s.inputs[1].kernel_drops.get()}}));
  const line_snapshot& l = s.lines[1];
  EXPECT_EQ(status.at("lines").as_array().size(), 2U);
  EXPECT_EQ(status.at("lines").at(1),
            boost::json::value({{"line", "minimum_bias"},
                                {"fired", l.fired},
                                {"kept", l.kept},
                                {"refused", {{"prescale", l.refused.at("prescale")}}},
                                {"prescale", 20},
                                {"shed", l.shed},
                                {"shed_prescale", 8}}));
}

TEST(status, says_so_where_a_part_is_not_there) {
  metrics_snapshot s = sample_snapshot();
  s.lines[0].refused.clear();
  EXPECT_TRUE(boost::json::parse(render_status(s)).at("lines").at(0).at("refused").is_object());
  s.lines.clear();
  s.spool.reset();
  const boost::json::value status = boost::json::parse(render_status(s));
  EXPECT_TRUE(status.at("spool").is_null());
  EXPECT_TRUE(status.at("lines").as_array().empty());
}

TEST(status, the_page_loads_nothing_from_elsewhere_and_escapes_what_it_shows) {
  metrics_snapshot s = sample_snapshot();
  s.device = "</script><script>alert(1)";
  s.receiver = "tcp://10.0.0.1:42200";
  s.state.has[static_cast<std::size_t>(trouble::receiver_absent)] = true;
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
  EXPECT_EQ(*pages.at("/readyz")().body, "configured\n");
  state.enter(phase::receiving);
  EXPECT_EQ(pages.at("/readyz")().status, 200U);
  state.set(trouble::engine_error, true);
  EXPECT_EQ(pages.at("/readyz")().status, 503U);
  EXPECT_EQ(*pages.at("/readyz")().body, "receiving, degraded: engine_error\n");
  stuck = "drain";
  EXPECT_EQ(pages.at("/healthz")().status, 503U);
  EXPECT_EQ(*pages.at("/healthz")().body, "no progress: drain\n");
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
  state.has[static_cast<std::size_t>(trouble::no_frame)] = true;
  EXPECT_NE(*pages.at("/status")().body, second) << "the state is that of the moment";
}

TEST(monitor_pages, the_state_is_that_of_the_moment_not_of_the_snapshot) {
  const state_report stopped{phase::stopped, {}};
  const http_pages pages = monitor_pages(
      sample_snapshot, [&] { return stopped; }, [] { return std::string(); });
  EXPECT_NE(pages.at("/metrics")().body->find("koto_l3_state{state=\"stopped\"} 1"),
            std::string::npos);
  EXPECT_NE(pages.at("/status")().body->find(R"("now":"stopped")"), std::string::npos);
}

} // namespace
} // namespace l3
