// SPDX-License-Identifier: Apache-2.0
#include "monitor/trouble.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

/// How bad each of two kinds is; nothing: the trouble is not there.
struct figures {
  std::optional<finding> loss{};
  std::optional<finding> state{};
};

constexpr std::array<trouble_kind<figures>, 2> kinds{
    {{{"loss", ends::with_data, "the shift", "Events are lost.", "look at the loss", "0s", "30s",
       true},
      [](const figures&, const figures& now) { return now.loss; }},
     {{"state", ends::at_once, "the shift", "Something is absent.", "start it", "0s", ""},
      [](const figures&, const figures& now) { return now.state; }}}};

finding lost(severity how_bad, double share) {
  return {.how_bad = how_bad,
          .text = "events are lost",
          .loses = losing::now,
          .share = share,
          .events = 7};
}
const finding absent{.how_bad = severity::critical,
                     .text = "it is absent",
                     .loses = losing::soon,
                     .seconds_left = 20};

class trouble_board_test : public testing::Test {
protected:
  /// Looks every half second for `seconds`. Returns the names in order, and keeps the log.
  std::string look(const figures& f, bool data, double seconds = 0.5) {
    for (double s = 0; s < seconds; s += 0.5) {
      now_ += 500ms;
      board_.look(kinds, figures{}, f, data, now_, 1.7e9 + in_seconds(now_ - begin_));
      for (const auto& line : board_.news()) log_ += line.text + "\n";
    }
    std::string names;
    for (const trouble& t : board_.list().now)
      names += std::string(t.name) + ":" + std::string(name_of(t.how_bad)) + " ";
    return names;
  }

  const time_point begin_{};
  time_point now_{};
  trouble_board board_{rows_of(kinds)};
  std::string log_;
};

TEST_F(trouble_board_test, lists_what_loses_events_now_first) {
  EXPECT_EQ(look({lost(severity::warning, 0.02), absent}, true), "loss:warning state:critical ");
  EXPECT_EQ(look({lost(severity::note, 0.001), absent}, true, 2.5), "state:critical loss:note ")
      << "a note is never the headline";
  EXPECT_EQ(board_.list().level(), "critical");
  EXPECT_EQ(board_.list().headline()->name, "state");
}

TEST_F(trouble_board_test, a_state_ends_at_once_and_a_loss_with_data_that_show_none) {
  look({lost(severity::critical, 0.6), absent}, true);
  EXPECT_EQ(look({}, true), "loss:critical ");
  EXPECT_EQ(look({}, true), "loss:critical ");
  EXPECT_EQ(look({}, true), "") << "1.5 s of data without a sign";
}

TEST_F(trouble_board_test, a_loss_outlives_the_pause_between_spills_and_no_more) {
  look({lost(severity::critical, 0.6)}, true);
  EXPECT_EQ(look({}, false, 4.0), "loss:critical ");
  EXPECT_EQ(look({}, false), "") << "4.5 s without a sign";
  finding lasts;
  lasts.only_lasts = true;
  EXPECT_EQ(look({lasts}, true), "") << "it prolongs a trouble and begins none";
  look({lost(severity::critical, 0.6)}, true);
  EXPECT_EQ(look({lasts}, true, 6.0), "loss:critical ");
  EXPECT_EQ(board_.list().now[0].text, "events are lost");
}

TEST_F(trouble_board_test, a_severity_rises_at_once_and_falls_after_a_while) {
  look({lost(severity::warning, 0.02)}, true);
  EXPECT_EQ(look({lost(severity::critical, 0.6)}, true), "loss:critical ");
  EXPECT_EQ(look({lost(severity::warning, 0.02)}, true, 1.0), "loss:critical ");
  EXPECT_EQ(look({lost(severity::warning, 0.02)}, true), "loss:warning ");
}

TEST_F(trouble_board_test, logs_begin_change_and_end_and_counts_events) {
  look({lost(severity::warning, 0.02)}, true);
  look({lost(severity::critical, 0.6)}, true);
  EXPECT_EQ(board_.list().now[0].events, 14U);
  EXPECT_EQ(board_.list().now[0].since, 1.7e9 + 0.5);
  look({}, true, 3.0);
  EXPECT_EQ(log_, "loss begins: events are lost; look at the loss\n"
                  "loss is now critical: events are lost\n"
                  "loss is over after 2 s: 14 events were lost\n");
}

TEST_F(trouble_board_test, logs_another_cause_and_few_lines_of_a_trouble_that_flickers) {
  finding other = lost(severity::warning, 0.02);
  look({other}, true);
  other.what = "crate 7";
  look({other}, true, 2.0);
  EXPECT_EQ(std::ranges::count(log_, '\n'), 2) << log_;
  EXPECT_NE(log_.find("loss goes on: events are lost"), log_.npos);
  for (int n = 0; n < 20; ++n) {
    look({{}, absent}, true);
    look({}, true);
  }
  EXPECT_LT(std::ranges::count(log_, '\n'), 20) << log_;
  EXPECT_NE(log_.find("lines before it left out"), log_.npos);
}

TEST_F(trouble_board_test, status_and_metrics_say_the_same) {
  const auto status = [&] {
    return boost::json::parse(render_status(families_of(
        rows_of(kinds), board_.list(), "trouble{name,severity}", "trouble_events{name}")));
  };
  look({}, true);
  EXPECT_TRUE(status().at("problem").is_null());
  EXPECT_EQ(status().at("state").at("level"), "good");
  look({lost(severity::critical, 0.6), absent}, true);
  EXPECT_EQ(status().at("problem").at("text"), "events are lost; look at the loss");
  EXPECT_EQ(status().at("state").at("degraded"), (boost::json::array{"loss", "state"}));
  EXPECT_EQ(status().at("troubles").at(1).at("seconds_left"), 20.0);
  const std::string metrics = render_metrics(
      families_of(rows_of(kinds), board_.list(), "trouble{name,severity}", "trouble_events{name}"));
  for (const char* line : {"koto_l3_trouble{name=\"loss\",severity=\"critical\"} 1\n",
                           "koto_l3_trouble{name=\"loss\",severity=\"warning\"} 0\n",
                           "koto_l3_trouble_events{name=\"loss\"} 7\n"})
    EXPECT_NE(metrics.find(line), metrics.npos) << line << metrics;
}

TEST_F(trouble_board_test, the_metrics_show_a_short_trouble_to_each_scrape) {
  look({{}, absent}, true);
  look({}, true, 10.0);
  EXPECT_TRUE(board_.list().now.empty());
  EXPECT_TRUE(board_.list().shown[1].critical);
  look({}, true);
  EXPECT_FALSE(board_.list().shown[1].critical);
}

} // namespace
} // namespace l3
