// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/status.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/daemon/monitor/sample_snapshot.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The value behind a series, or a text that no value equals.
std::string value_of(const std::string& text, const std::string& series) {
  for (const std::string& line : lines_of(text))
    if (line.starts_with("koto_l3_" + series + " ")) return line.substr(series.size() + 9);
  return "absent";
}

std::vector<std::string> labels_in(const std::string& key) {
  const std::regex label(R"([\[{](\w+)[\]}])");
  return {std::sregex_token_iterator(key.begin(), key.end(), label, 1), {}};
}

// Names, types, labels and values as they are scraped. A line that changes here breaks dashboards
// and alerts that are in use, and belongs into CHANGELOG.md.
TEST(metrics, of_the_sample_are_those_of_the_page_that_is_kept) {
  std::ifstream file(L3_SOURCE_DIR "/tests/daemon/monitor/sample_exposition.txt");
  std::vector<std::string> kept;
  for (std::string line; std::getline(file, line);) kept.push_back(line);
  std::vector<std::string> rendered = lines_of(render_metrics(sample_snapshot()));
  std::erase_if(rendered, [](const std::string& line) { return line.starts_with("# HELP"); });
  EXPECT_EQ(rendered, kept);
}

TEST(families, are_named_and_explained_as_prometheus_wants_it) {
  const std::regex name(R"([a-z][a-z_]*(\{[a-z_]+(,[a-z_]+)*\})?)");
  const std::regex other_unit("_(ns|us|ms|kb|mb|kib|mib|percent)(_|$)");
  std::set<std::string> names, keys;
  for (const family& f : families_of(sample_snapshot())) {
    SCOPED_TRACE(std::string(f.name) + " " + std::string(f.key));
    EXPECT_TRUE(f.help.ends_with('.'));
    EXPECT_TRUE(f.key.empty() || keys.emplace(f.key).second) << "two have this key";
    if (f.is == family::kind::fact) continue;
    EXPECT_TRUE(names.insert(f.metric()).second) << "two have this name";
    EXPECT_TRUE(std::regex_match(std::string(f.name), name));
    EXPECT_FALSE(std::regex_search(f.metric(), other_unit)) << "not a base unit";
    EXPECT_EQ(f.is == family::kind::counter, f.metric().ends_with("_total"));
    EXPECT_TRUE(f.key.empty() || labels_in(std::string(f.key)) == f.labels());
  }
}

TEST(families, read_each_number_and_no_number_twice) {
  std::set<double> seen;
  for (const family& f : families_of(sample_snapshot())) {
    if (f.is == family::kind::fact || f.name.ends_with("unaccounted")) continue;
    std::size_t series = f.latencies.size();
    f.each_series([&](const auto&, const boost::json::value& v) {
      ++series;
      const double number = v.is_bool() ? 1 : v.to_number<double>();
      EXPECT_NE(number, 0) << f.name;
      EXPECT_TRUE(number < 100 || seen.insert(number).second) << f.name << ": " << number;
    });
    EXPECT_GT(series, 0U) << f.name;
  }
}

TEST(metrics, leave_out_the_parts_that_are_not_there) {
  metrics_snapshot s = sample_snapshot();
  s.lines.clear();
  s.spool.reset();
  const std::string text = render_metrics(s);
  EXPECT_EQ(text.find("koto_l3_line_"), std::string::npos);
  EXPECT_EQ(text.find("koto_l3_spool_"), std::string::npos);
}

TEST(metrics, show_both_sums_exactly_and_notice_a_single_loss) {
  metrics_snapshot s = sample_snapshot();
  EXPECT_EQ(value_of(render_metrics(s), "events_unaccounted"), "0");
  EXPECT_EQ(value_of(render_metrics(s), "fragments_unaccounted"), "0");
  s.account.events.forwarded -= 1;
  s.account.fragments.late += 1;
  EXPECT_EQ(value_of(render_metrics(s), "events_unaccounted"), "1");
  EXPECT_EQ(value_of(render_metrics(s), "fragments_unaccounted"), "-1");
  const std::uint64_t bytes = 1'234'567'890'123'456;
  s.outcomes.packed_bytes.add(event_payload::all, bytes - s.outcomes.packed_bytes.sum());
  EXPECT_EQ(std::stod(value_of(render_metrics(s), "packed_bytes_total")), double(bytes));
}

auto series_of(const metrics_snapshot& s) {
  const auto is_sample = [](const std::string& line) { return line[0] != '#'; };
  return std::ranges::count_if(lines_of(render_metrics(s)), is_sample);
}

/// The readout, the built-in menu with the reasons of its longest line, a shadow menu of as many
/// lines, and four threads that receive, with all parts of the daemon.
TEST(metrics, series_stay_few_with_the_crates_and_lines_of_koto) {
  metrics_snapshot s = sample_snapshot();
  const auto before = series_of(s);
  s.inputs.clear();
  for (int i = 0; i < 32; ++i) s.inputs.push_back({{}, "udp" + std::to_string(i)});
  EXPECT_LE(series_of(s), 600) << "with the most inputs";
  s.inputs.clear();
  for (const char* link : {"udp0", "udp1", "udp2", "udp3", "tcp"}) s.inputs.push_back({{}, link});
  s.account.crates.resize(18);
  s.crates.resize(18);
  for (unsigned c = 0; c < 18; ++c) s.account.crates[c].crate = c;
  s.lines.resize(11); // of the built-in menu, with the reasons of its longest line
  for (std::size_t i = 0; i < s.lines.size(); ++i) {
    s.lines[i].name = "line" + std::to_string(i);
    s.lines[i].refused = {{"trigger", 1},       {"prescale", 1},      {"veto", 1},   {"photons", 1},
                          {"photon_energy", 1}, {"centre_radius", 1}, {"opening", 1}};
  }
  s.shadow->lines.assign(s.lines.size(), s.shadow->lines.front());
  for (std::size_t i = 0; i < s.lines.size(); ++i) s.shadow->lines[i].name = s.lines[i].name;
  EXPECT_GT(series_of(s), before + 16 * 4 + 9 * 5 + 11 * 7 + 10 * 5 - 4);
  EXPECT_LE(series_of(s), 600);
}

TEST(metrics, a_histogram_is_cumulative_and_in_seconds) {
  latency_distribution h;
  h.add(50us);
  h.add(30ms, 2);
  h.add(20s); // beyond the last bound
  const latency_snapshot s = snapshot_of(h);
  EXPECT_EQ(s.up_to.front(), 1U);
  EXPECT_EQ(s.up_to.back(), 3U);
  EXPECT_EQ(s.count, 4U);
  EXPECT_NEAR(s.sum, 20.06005, 1e-9);
  EXPECT_NEAR(s.median, 0.030, 0.001);
  EXPECT_TRUE(std::is_sorted(s.up_to.begin(), s.up_to.end()));
}

TEST(metrics, pass_the_check_of_promtool) {
  if (std::system("command -v promtool >/dev/null") != 0) // NOLINT: no other thread
    GTEST_SKIP() << "promtool is not installed (package prometheus)";
  FILE* const check = popen("promtool check metrics", "w");
  ASSERT_NE(check, nullptr);
  std::fputs(render_metrics(sample_snapshot()).c_str(), check);
  EXPECT_EQ(pclose(check), 0);
}

} // namespace
} // namespace l3
