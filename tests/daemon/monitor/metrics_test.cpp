// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/metrics.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tests/daemon/monitor/sample_snapshot.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> samples_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

// The value behind a series, or a text that no value equals.
std::string value_of(const std::string& text, const std::string& series) {
  for (const std::string& line : samples_of(text)) {
    if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
  }
  return "absent";
}

TEST(metrics, carry_what_was_counted) {
  const std::string text = render_metrics(sample_snapshot());
  EXPECT_EQ(value_of(text, R"(koto_l3_build_info{version="0.1.0"})"), "1");
  EXPECT_EQ(value_of(text, R"(koto_l3_datagrams_total{link="udp0"})"), "4000");
  EXPECT_EQ(value_of(text, R"(koto_l3_kernel_drops_total{link="udp0"})"), "2");
  EXPECT_EQ(value_of(text, R"(koto_l3_refused_total{reason="too_long"})"), "2");
  EXPECT_EQ(value_of(text, R"(koto_l3_fragments_total{outcome="malformed"})"), "10");
  EXPECT_EQ(value_of(text, R"(koto_l3_fragments_malformed_total{reason="truncated"})"), "1");
  EXPECT_EQ(value_of(text, R"(koto_l3_events_total{outcome="forwarded"})"), "80");
  EXPECT_EQ(value_of(text, R"(koto_l3_events_shed_total{reason="drain"})"), "1");
  EXPECT_EQ(value_of(text, R"(koto_l3_last_run_lost_events)"), "17");
  EXPECT_EQ(value_of(text, R"(koto_l3_reloads_total{outcome="applied"})"), "2");
  EXPECT_EQ(value_of(text, R"(koto_l3_reloads_total{outcome="refused"})"), "1");
  EXPECT_EQ(value_of(text, R"(koto_l3_state{state="receiving"})"), "1");
  EXPECT_EQ(value_of(text, R"(koto_l3_state{state="draining"})"), "0");
  EXPECT_EQ(value_of(text, R"(koto_l3_degraded{reason="outbox_full"})"), "0");
  EXPECT_EQ(value_of(text, R"(koto_l3_frames{state="running"})"), "1");
  EXPECT_EQ(value_of(text, R"(koto_l3_event_latency_seconds_count)"), "100");
  EXPECT_EQ(value_of(text, R"(koto_l3_stage_duration_seconds_bucket{stage="drain",le="+Inf"})"),
            "100");
}

TEST(metrics, tell_what_the_compute_side_went_through) {
  const std::string text = render_metrics(sample_snapshot());
  const auto of = [&](const std::string& series) { return value_of(text, "koto_l3_" + series); };
  EXPECT_EQ(of(R"(engine_failures_total{kind="error"})"), "1");
  EXPECT_EQ(of(R"(engine_failures_total{kind="hang"})"), "2");
  EXPECT_EQ(of(R"(engine_failures_total{kind="wrong"})"), "3");
  EXPECT_EQ(of("engine_bypassed"), "1");
  EXPECT_EQ(of("bypassed_frames_total"), "40");
  EXPECT_EQ(of("engine_restarts_total"), "5");
  EXPECT_EQ(of("verified_events_total"), "60");
  EXPECT_EQ(of("wrong_events_total"), "7");
  EXPECT_EQ(of("batches_dumped_total"), "8");
  EXPECT_EQ(of("batches_not_dumped_total"), "9");
}

TEST(metrics, tell_of_every_line_what_it_did) {
  metrics_snapshot s = sample_snapshot();
  const std::string text = render_metrics(s);
  const auto of = [&](const std::string& series) { return value_of(text, "koto_l3_" + series); };
  EXPECT_EQ(of(R"(line_events_total{line="pi0nunu",outcome="fired"})"), "40");
  EXPECT_EQ(of(R"(line_events_total{line="minimum_bias",outcome="fired"})"), "60");
  EXPECT_EQ(of(R"(line_events_total{line="minimum_bias",outcome="kept"})"), "3");
  EXPECT_EQ(of(R"(line_refused_total{line="pi0nunu",reason="trigger"})"), "5");
  EXPECT_EQ(of(R"(line_refused_total{line="pi0nunu",reason="photon_energy_min"})"), "2");
  EXPECT_EQ(of(R"(line_refused_total{line="minimum_bias",reason="prescale"})"), "7");
  EXPECT_EQ(of(R"(line_prescale{line="minimum_bias"})"), "20");
  EXPECT_EQ(of(R"(line_prescale{line="pi0nunu"})"), "1");
  EXPECT_EQ(of("events_not_judged_total"), "4");
  s.lines.clear(); // no selection runs
  EXPECT_EQ(render_metrics(s).find("koto_l3_line_"), std::string::npos);
}

TEST(metrics, both_sums_are_shown_and_notice_a_single_loss) {
  metrics_snapshot s = sample_snapshot();
  EXPECT_EQ(value_of(render_metrics(s), "koto_l3_events_unaccounted"), "0");
  EXPECT_EQ(value_of(render_metrics(s), "koto_l3_fragments_unaccounted"), "0");
  s.account.events.forwarded -= 1;
  s.account.fragments.late += 1;
  EXPECT_EQ(value_of(render_metrics(s), "koto_l3_events_unaccounted"), "1");
  EXPECT_EQ(value_of(render_metrics(s), "koto_l3_fragments_unaccounted"), "-1");
}

TEST(metrics, large_counts_are_exact) {
  metrics_snapshot s = sample_snapshot();
  s.packed_bytes = 1'234'567'890'123'456;
  EXPECT_EQ(std::stod(value_of(render_metrics(s), "koto_l3_packed_bytes_total")),
            1'234'567'890'123'456.0);
}

TEST(metrics, series_stay_few_with_the_most_links) {
  metrics_snapshot s = sample_snapshot();
  s.inputs.clear();
  for (int i = 0; i < 32; ++i) s.inputs.push_back({"udp" + std::to_string(i)});
  EXPECT_LE(samples_of(render_metrics(s)).size(), 500U);
}

TEST(metrics, a_histogram_is_cumulative_and_in_seconds) {
  latency_histogram h;
  h.add(50us);
  h.add(30ms, 2);
  h.add(20s); // beyond the last bound
  const histogram_snapshot s = snapshot_of(h);
  EXPECT_EQ(s.up_to.front(), 1U);
  EXPECT_EQ(s.up_to.back(), 3U);
  EXPECT_EQ(s.count, 4U);
  EXPECT_NEAR(s.sum, 20.06005, 1e-9);
  EXPECT_NEAR(s.median, 0.030, 0.001);
  for (std::size_t i = 1; i < s.up_to.size(); ++i) EXPECT_GE(s.up_to[i], s.up_to[i - 1]);
}

TEST(metrics, pass_the_check_of_promtool) {
  if (std::system("command -v promtool >/dev/null") != 0)
    GTEST_SKIP() << "promtool is not installed (package prometheus)";
  FILE* const check = popen("promtool check metrics", "w");
  ASSERT_NE(check, nullptr);
  std::fputs(render_metrics(sample_snapshot()).c_str(), check);
  EXPECT_EQ(pclose(check), 0);
}

} // namespace
} // namespace l3
