// SPDX-License-Identifier: Apache-2.0
#include "receiver/node_presence.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t run = 7;

/// Sessions that say hello, are heard and say goodbye when the test wants.
class farm {
public:
  void hello(std::uint64_t session, std::uint32_t node,
             const std::string& peer = "address 10.0.0.1", std::uint16_t process = 1000) {
    link_peer& from = peers_.greet(session, std::to_string(session), now_);
    from.in_words = peer;
    from.node = node;
    from.take_process(process, now_);
    from.run = run;
  }
  void hear(std::uint64_t session) { peers_.find(session)->heard_at = now_; }
  void store(std::uint64_t session, event_key last) {
    link_peer& from = *peers_.find(session);
    if (!from.first_event) from.first_event = last;
    from.last_event = last;
    from.stored = true;
    from.stored_at = from.heard_at = now_;
  }
  /// A block without events.
  void store_empty(std::uint64_t session) {
    peers_.find(session)->stored_at = peers_.find(session)->heard_at = now_;
  }
  /// Before the receiver's start.
  void store_unknown(std::uint64_t session) { peers_.find(session)->stored = true; }
  void goodbye(std::uint64_t session) {
    hear(session);
    peers_.find(session)->gone = true;
  }
  /// What is said so much later.
  std::vector<std::string> after(std::chrono::nanoseconds time) { return after(time, {}); }
  /// Meanwhile these are heard.
  std::vector<std::string> after(std::chrono::nanoseconds time,
                                 std::initializer_list<std::uint64_t> heard) {
    now_ += time;
    for (const std::uint64_t session : heard) hear(session);
    std::vector<std::string> news = presence_.look(peers_, now_);
    std::set<std::string> is; // the list of troubles shows it
    for (const missing_part& part : presence_.parts())
      if (!part.back_at)
        is.insert("missing: node " + std::to_string(part.node) + " " + where_it_breaks_off(part));
    for (const auto& [node, who] : presence_.said_by_several()) is.insert("several: " + who);
    std::ranges::set_difference(is, shown_, std::back_inserter(news));
    shown_ = std::move(is);
    return news;
  }
  void machine_answers(std::uint64_t session) { peers_.find(session)->is_open = true; }
  [[nodiscard]] const node_presence& presence() const { return presence_; }

private:
  link_peers peers_;
  node_presence presence_;
  std::set<std::string> shown_;
  time_point now_ = time_point(1h);
};

/// One line that says this.
void expect_news(const std::vector<std::string>& news, std::string_view text) {
  ASSERT_EQ(news.size(), 1U);
  EXPECT_NE(news[0].find(text), std::string::npos) << news[0];
}

class a_farm : public testing::Test {
protected:
  farm f;
};

TEST_F(a_farm, names_a_silent_node_by_run_spill_and_node_once) {
  f.hello(1, 3);
  f.hello(2, 4);
  f.store(1, {511, 17});
  EXPECT_TRUE(f.after(1900ms, {2}).empty());
  const auto news = f.after(200ms, {2});
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0], "missing: node 3 after event 17 of spill 511");
  EXPECT_TRUE(f.presence().is_missing(3));
  EXPECT_FALSE(f.presence().is_missing(4));
  EXPECT_TRUE(f.after(10s, {2}).empty());
  ASSERT_EQ(f.presence().parts().size(), 1U);
  EXPECT_EQ(f.presence().parts()[0].after, (event_key{511, 17}));
  EXPECT_FALSE(f.presence().parts()[0].back_at);
}

TEST_F(a_farm, waits_longer_for_a_node_whose_machine_answers) {
  f.hello(1, 3);
  f.machine_answers(1);
  EXPECT_TRUE(f.after(4900ms).empty()) << "its daemon may be stopped for a while";
  expect_news(f.after(200ms), "missing: node 3");
}

TEST(node_presence, knows_where_a_run_breaks_off) {
  missing_part part;
  EXPECT_EQ(where_it_breaks_off(part), "since it began");
  part.stored = true;
  EXPECT_EQ(where_it_breaks_off(part), "after its last stored event");
  farm f;
  f.hello(1, 3);
  f.hello(2, 3);
  f.store_unknown(1);
  EXPECT_EQ(f.after(3s).size(), 1U);
  EXPECT_TRUE(f.presence().parts()[0].stored);
}

TEST_F(a_farm, names_the_last_event_though_the_last_block_had_none) {
  f.hello(1, 3);
  f.hello(2, 3);
  f.hello(3, 4);
  f.store(1, {5, 17});
  EXPECT_TRUE(f.after(100ms).empty());
  f.store_empty(2);
  expect_news(f.after(3s, {3}), "after event 17 of spill 5");
}

TEST_F(a_farm, tells_two_daemons_of_one_number_after_five_seconds) {
  for (const std::uint64_t session : {1, 2}) f.hello(session, 3);
  for (const std::uint64_t session : {11, 12}) f.hello(session, 3, "address 10.0.0.2", 2000);
  EXPECT_TRUE(f.after(100ms, {1, 2, 11, 12}).empty());
  for (int second = 0; second < 4; ++second)
    EXPECT_TRUE(f.after(1s, {1, 2, 11, 12}).empty()) << "one may be dead";
  const auto news = f.after(1s, {1, 2, 11, 12});
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].find("several: address 10.0.0.1"), 0U) << news[0];
  EXPECT_TRUE(f.presence().said_by_several().contains(3));
  EXPECT_TRUE(f.after(1s, {1, 2, 11, 12}).empty()) << "once";
  EXPECT_TRUE(f.after(3s, {11, 12}).empty());
  EXPECT_TRUE(f.presence().said_by_several().empty());
}

/// Its other lane may be one that the outage began.
TEST_F(a_farm, knows_a_process_that_was_only_cut_off_by_its_mark) {
  f.hello(1, 3, "address 10.0.0.1", 1000);
  f.store(1, {5, 17});
  EXPECT_EQ(f.after(3s).size(), 1U);
  f.hello(2, 3, "address 10.0.0.2", 1000);
  expect_news(f.after(500ms, {2}),
              "node 3 is back after 3.5 s, and continues where it stopped: nothing is missing");
  EXPECT_TRUE(f.presence().parts().empty());
  for (int second = 0; second < 10; ++second)
    EXPECT_TRUE(f.after(1s, {2}).empty()) << "its first lane has nothing to say";
  EXPECT_EQ(f.after(3s).size(), 1U) << "it may be missing again";
}

TEST_F(a_farm, takes_no_new_lane_of_a_process_for_another_process) {
  f.hello(1, 3, "address 10.0.0.1", 1000);
  f.store(1, {5, 17});
  EXPECT_TRUE(f.after(1s).empty());
  f.hello(2, 3, "address 10.0.0.1", 1000);
  for (int second = 0; second < 10; ++second) EXPECT_TRUE(f.after(1s, {2}).empty());
}

TEST_F(a_farm, knows_a_new_process_that_sends_what_the_one_that_died_had_on_disk) {
  f.hello(1, 3, "address 10.0.0.1", 1000);
  f.hello(2, 3, "address 10.0.0.1", 1000);
  f.store(1, {5, 3});
  f.store(2, {5, 17});
  EXPECT_EQ(f.after(3s).size(), 1U);
  f.hello(2, 3, "address 10.0.0.1", 2000);
  expect_news(f.after(500ms, {2}), "node 3 is back after 3.5 s, and has restarted: ");
  f.store(2, {5, 4}); // was on disk
  EXPECT_TRUE(f.after(1s, {2}).empty());
  ASSERT_EQ(f.presence().parts().size(), 1U);
  EXPECT_FALSE(f.presence().parts()[0].before);
  f.hello(3, 3, "address 10.0.0.1", 2000);
  f.store(3, {6, 1});
  EXPECT_TRUE(f.after(1s, {2, 3}).empty());
  EXPECT_EQ(f.presence().parts()[0].before, (event_key{6, 1}));
}

TEST(node_presence, takes_no_goodbye_from_before_it_missed_a_node_for_its_successor) {
  for (const std::uint16_t other : {1000, 2000}) { // of one daemon, or of two with one number
    farm f;
    f.hello(1, 3, "address 10.0.0.1", 1000);
    f.hello(5, 3, "address 10.0.0.1", other);
    f.store(1, {5, 17});
    EXPECT_TRUE(f.after(600ms).empty());
    f.goodbye(5);
    EXPECT_EQ(f.after(1500ms).size(), 1U);
    EXPECT_TRUE(f.after(500ms).empty());
    EXPECT_TRUE(f.presence().is_missing(3));
  }
}

TEST_F(a_farm, tells_a_death_once_though_one_lane_had_been_silent_before) {
  f.hello(1, 3, "address 10.0.0.1", 1000);
  f.hello(2, 3, "address 10.0.0.1", 1000);
  f.store(1, {5, 17});
  EXPECT_EQ(f.after(3s).size(), 1U);
  EXPECT_EQ(f.after(500ms, {2}).size(), 1U) << "continues where it stopped";
  f.store(2, {5, 90});
  EXPECT_TRUE(f.after(100ms).empty());
  f.hello(3, 3, "address 10.0.0.1", 2000); // it has died, and was started at once
  std::vector<std::string> said;
  for (int look = 0; look < 10; ++look)
    for (const std::string& line : f.after(500ms, {3})) said.push_back(line);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("after event 90 of spill 5"), std::string::npos) << said[0];
  EXPECT_EQ(f.presence().parts().size(), 1U);
}

TEST_F(a_farm, notices_a_new_process_with_an_old_session_before_the_old_one_was_missed) {
  f.hello(1, 3, "address 10.0.0.1", 1000);
  f.hello(2, 3, "address 10.0.0.1", 1000);
  f.store(1, {5, 17});
  EXPECT_TRUE(f.after(1s).empty());
  f.hello(2, 3, "address 10.0.0.1", 2000);
  expect_news(f.after(1100ms, {2}), "node 3 has restarted without a goodbye: ");
}

TEST_F(a_farm, lets_a_node_go_that_was_missing_and_says_goodbye) {
  f.hello(1, 3);
  f.store(1, {5, 17});
  EXPECT_EQ(f.after(3s).size(), 1U);
  f.store(1, {5, 18});
  f.goodbye(1);
  expect_news(f.after(1s), "node 3 is back after 3.0 s, and has said goodbye: nothing is missing");
  EXPECT_TRUE(f.presence().parts().empty());
  EXPECT_TRUE(f.after(1min).empty());
}

TEST_F(a_farm, misses_a_node_that_leaves_one_of_its_silent_sessions_behind) {
  f.hello(1, 3, "address 10.0.0.1", 1000);
  f.hello(2, 3, "address 10.0.0.1", 1000);
  f.store(1, {5, 17});
  EXPECT_EQ(f.after(3s).size(), 1U);
  f.goodbye(1);
  EXPECT_TRUE(f.after(1s).empty());
  EXPECT_TRUE(f.presence().is_missing(3)) << "blocks are on its disk";
}

TEST_F(a_farm, knows_few_nodes) {
  for (std::uint32_t node = 1; node <= 2 * node_presence::most_parts; ++node) f.hello(node, node);
  EXPECT_EQ(f.after(3s).size(), node_presence::most_parts);
  EXPECT_TRUE(f.after(3s).empty());
}

TEST_F(a_farm, forgets_the_oldest_parts) {
  for (std::uint64_t session = 1; session <= 3 * node_presence::most_parts; ++session) {
    f.hello(session, 3, "address 10.0.0.1", static_cast<std::uint16_t>(session));
    (void)f.after(1s);
    (void)f.after(3s);
  }
  EXPECT_EQ(f.presence().parts().size(), 64U + 1) << "and the one that is missing";
}

TEST(events, come_in_the_order_of_spills_that_begin_again_at_0) {
  EXPECT_TRUE(is_before({5, 17}, {5, 18}));
  EXPECT_TRUE(is_before({5, 17}, {6, 1}));
  EXPECT_TRUE(is_before({511, 17}, {0, 1}));
  EXPECT_FALSE(is_before({0, 1}, {511, 17}));
  EXPECT_FALSE(is_before({5, 17}, {5, 17}));
}

} // namespace
} // namespace l3
