// SPDX-License-Identifier: Apache-2.0
#include "receiver/watch.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "monitor/family.hpp"
#include "receiver/snapshot.hpp"
#include "tests/receiver/sample_snapshot.hpp"

namespace l3 {
namespace {

boost::json::value status_of(const receive_snapshot& s) {
  return boost::json::parse(render_status(families_of(s)));
}

std::string metrics_of(const receive_snapshot& s) { return render_metrics(families_of(s)); }

TEST(receive_metrics, stay_below_500_series_with_all_daemons) {
  receive_snapshot s = sample_receive_snapshot();
  const daemon_snapshot one = s.daemons.front();
  s.daemons.assign(receive_snapshot::most_daemons, one);
  for (std::uint32_t n = 0; n < s.daemons.size(); ++n) s.daemons[n].node = n;
  const std::string text = metrics_of(s);
  int series = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    if (text[at] != '#') ++series;
  EXPECT_GT(series, 300);
  EXPECT_LE(series, 500);
}

TEST(receive_pages, show_all_nodes_and_what_is_missing) {
  const std::string page = render_page(farm_receive_snapshot());
  EXPECT_NE(page.find("class=\"state off\">missing: node 3 of run 77 after event 17 of "
                      "spill 5</p>\n<p>check that node"),
            page.npos);
  EXPECT_NE(page.find("<tr class=\"missing\"><th scope=\"row\">3</th>"), page.npos);
  EXPECT_NE(page.find("key node&lt;1&gt;"), page.npos);
  EXPECT_NE(page.find("<td>2 s ago, event 30 of spill 6</td>"), page.npos);
  EXPECT_NE(page.find("<td>after event 17 of spill 5</td><td></td><td>missing for 42 s</td>"),
            page.npos);
  EXPECT_NE(page.find("<td>after event 9 of spill 2</td><td>before event 2 of spill 4</td><td>back "
                      "after 9 s</td>"),
            page.npos);
  EXPECT_EQ(render_page(sample_receive_snapshot()).find("<h2>Missing</h2>"), page.npos);
  EXPECT_EQ(page.find("<store>"), page.npos);
  EXPECT_NE(page.find("/data/&lt;store&gt;"), page.npos);
}

TEST(receive_pages, show_every_trouble_and_what_to_do) {
  receive_snapshot s = sample_receive_snapshot();
  EXPECT_NE(render_page(s).find("<p class=\"state\">receiving</p>"), std::string::npos);
  EXPECT_TRUE(status_of(s).at("problem").is_null());
  EXPECT_EQ(status_of(s).at("state").at("level"), "good");
  s.disk->seconds_left = 1800;
  s.ledger_error = "cannot write ledger.json: Is a directory";
  find_troubles(s, s);
  const std::string page = render_page(s);
  EXPECT_NE(page.find("class=\"state degraded\">the disk of /data/&lt;store&gt; has 40.0 "
                      "GB free of 100.0: it is full in 30 min</p>\n<p>archive complete files"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("<p>the ledger: cannot write ledger.json: Is a directory; blocks are stored "
                      "nevertheless; make room"),
            std::string::npos)
      << page;
  s.store_error = "No space left on device";
  find_troubles(s, s);
  EXPECT_NE(render_page(s).find("class=\"state off\">nothing is stored"), std::string::npos);
  const auto status = status_of(s);
  EXPECT_EQ(status.at("state").at("level"), "critical");
  EXPECT_EQ(status.at("problem").at("name"), "store_fails");
  EXPECT_EQ(status.at("troubles").as_array().size(), 3U);
}

TEST(receive_pages, answer_health_checks) {
  receive_snapshot s = sample_receive_snapshot();
  bool stuck = false;
  const http_pages pages = receive_pages([&] { return s; }, [&] { return stuck; });
  EXPECT_EQ(pages.at("/healthz")().status, 200U);
  EXPECT_EQ(pages.at("/readyz")().status, 200U);
  stuck = true;
  s.store_error = "No space left on device";
  EXPECT_EQ(pages.at("/healthz")().status, 503U);
  EXPECT_EQ(pages.at("/readyz")().status, 503U);
  EXPECT_NE(pages.at("/readyz")().body->find("No space left"), std::string::npos);
}

} // namespace
} // namespace l3
