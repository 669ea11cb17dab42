// SPDX-License-Identifier: Apache-2.0
// Runs of small nodes: their ledgers when the disk fails, their numbers, and what is known between
// runs.
#include "daemon/run/run_host.hpp"

#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "daemon/run/run_reasons.hpp"
#include "daemon/words.hpp"
#include "tests/transport/outbox/link_ends.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

class hosts_of_runs : public testing::Test {
protected:
  hosts_of_runs() : ledgers_(std::filesystem::path(folder_.path()) / "ledgers") {
    std::ofstream(folder_.path() + "/l3.toml").close(); // a bare place is empty
  }

  daemon_settings settings() {
    daemon_settings s;
    s.building.crates = {{{4, 1, board_kind::sampling_125_mhz}}};
    s.building.max_events_per_spill = 1000;
    s.udp.port = 0;
    s.udp.ports = 1;
    s.udp.socket_buffer = kibibytes(64);
    s.tcp.bind.clear();
    s.frames = {.count = 2, .events = 2, .age = 5ms};
    s.compute.where = backend::serial;
    s.compute.dumps = folder_.path() + "/dumps";
    s.outbox = {kibibytes(256), {64 << 10}, 1ms};
    s.spool.folder.clear();
    s.forward = test::link_to("tcp://127.0.0.1:1");
    s.run.drain_time_limit = 1ms; // no receiver is there
    s.run.number = 5;
    s.run.ledger = ledgers_.string() + "/";
    return s;
  }
  static std::string text_of(const daemon_settings&) { return {}; }
  void make_host(const daemon_settings& s, const std::function<void()>& meanwhile = {}) {
    const auto guard = [meanwhile](const daemon_settings&) {
      if (meanwhile) meanwhile();
      return std::string();
    };
    host_.emplace(s, text_of, guard, stop_question(), [] {});
  }
  void make_host() { make_host(settings()); }
  void lose_disk() { // a user who may do everything could write to a folder without permissions
    std::filesystem::rename(ledgers_, ledgers_.string() + ".moved"); // a ledger may be in writing
    std::filesystem::create_directory(ledgers_);                     // as a bare place is left
  }
  run_host::ended_run end() {
    host_->start_ending(sockets_hold::what_to_leave);
    EXPECT_TRUE(test::eventually([&] { return !host_->busy(); }));
    return host_->finish_ending();
  }

  test::scratch_folder folder_;
  std::filesystem::path ledgers_;
  std::optional<run_host> host_;
};

TEST_F(hosts_of_runs, a_run_ends_though_its_ledger_cannot_be_written) {
  for (const bool at_the_end : {true, false}) {
    make_host();
    EXPECT_TRUE(std::filesystem::is_directory(folder_.path() + "/dumps")) << "made at the start";
    EXPECT_TRUE(host_->device().settled);
    host_->begin({7, "", ""});
    if (at_the_end) host_->announce();
    lose_disk();
    if (!at_the_end) {
      EXPECT_THROW(host_->announce(), std::runtime_error);
    }
    const auto ended = end();
    EXPECT_FALSE(ended.well);
    EXPECT_EQ(ended.ledger, "");
    EXPECT_NE(host_->snapshot().ledger_error.find("run 7 has no final ledger"), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_empty(ledgers_));
    EXPECT_EQ(host_->in_force(), nullptr);
    EXPECT_EQ(host_->last()->number, 7U);
    std::filesystem::remove(ledgers_);
    std::filesystem::remove_all(ledgers_.string() + ".moved");
  }
}

TEST_F(hosts_of_runs, the_number_of_a_run_that_begins_is_not_given_again) {
  make_host();
  host_->keep_ports();
  const auto begin = [&](const run_order& order) {
    host_->go_without_run();
    ASSERT_TRUE(test::eventually([&] { return host_->pauses(); }));
    ASSERT_TRUE(host_->start_beginning(order));
    run_control::report asked;
    EXPECT_FALSE(host_->was_used(order.number, asked)) << "it was stopped meanwhile";
    EXPECT_EQ(host_->next_number(asked), 5U) << "likewise";
    asked.next = order;
    EXPECT_TRUE(host_->was_used(order.number, asked));
    std::swap(asked.next, asked.current);
    EXPECT_TRUE(host_->was_used(order.number, asked));
    EXPECT_EQ(host_->next_number(asked), order.number + 1);
    ASSERT_TRUE(test::eventually([&] { return !host_->busy(); }));
  };
  begin({7, "/there/is/no/menu", ""});
  EXPECT_ANY_THROW(host_->finish_beginning());
  EXPECT_FALSE(host_->was_used(7, {})) << "it did not begin";
  EXPECT_EQ(host_->next_number({}), 5U);
  begin({7, "", ""});
  host_->finish_beginning();
  host_->announce();
  EXPECT_EQ(host_->next_number({}), 8U);
  EXPECT_TRUE(end().well);
}

/// Ledgers go to an archive between any two starts.
TEST_F(hosts_of_runs, a_number_is_given_once) {
  const auto remove = [&](const char* extension) {
    for (const auto& file : std::filesystem::directory_iterator(ledgers_))
      if (file.path().extension() == extension) std::filesystem::remove(file);
  };
  const auto run = [&](std::uint32_t number) {
    host_->begin({number, "", ""});
    host_->announce();
    static_cast<void>(end());
  };
  const auto next_of_another_start = [&] {
    remove(".json");
    make_host();
    return host_->next_number({});
  };
  make_host();
  EXPECT_EQ(host_->next_number({}), 5U);
  EXPECT_FALSE(host_->was_used(5, {}));
  run(50);
  remove(".json");
  run(40);
  remove(".json");
  EXPECT_TRUE(host_->was_used(50, {}));
  EXPECT_TRUE(host_->was_used(40, {}));
  EXPECT_EQ(host_->next_number({}), 51U);
  run(51);
  remove(".last-run");
  make_host();
  run(5); // the note is not there, and a ledger is
  EXPECT_EQ(next_of_another_start(), 52U);
  run(60);
  std::ofstream(ledgers_ / "node0.last-run") << "6x";
  make_host();
  run(6); // the note is damaged, and there is a ledger
  EXPECT_EQ(next_of_another_start(), 61U);
  std::ofstream(ledgers_ / "run000070-0-0123456789abcdef.json") << "{}";
  run(7); // the note is lower than a ledger
  EXPECT_EQ(next_of_another_start(), 71U);
  run(80);
  remove(".json");
  remove(".last-run");
  run(8); // only the daemon knows of the last one
  EXPECT_EQ(next_of_another_start(), 81U);
  constexpr auto last = std::numeric_limits<std::uint32_t>::max();
  run(last - 1);
  EXPECT_EQ(next_of_another_start(), last);
  run(last);
  EXPECT_EQ(host_->next_number({}), std::nullopt);
}

TEST(disk_shortages, say_sizes_in_the_unit_that_fits) {
  EXPECT_EQ(size_in_words(0), "0.0 MB");
  EXPECT_EQ(size_in_words(999'900'000), "999.9 MB");
  EXPECT_EQ(size_in_words(1'000'000'000), "1.0 GB");
  daemon_settings s;
  s.run.ledger.clear();
  const test::scratch_folder folder;
  s.spool.folder = std::string(folder.path());
  s.spool.floor = {};
  s.spool.segment = {1'234'500'000'000'000'000};
  s.spool.size = {4 * s.spool.segment.bytes};
  const auto shortages = disk_shortages(s);
  ASSERT_EQ(shortages.size(), 1U);
  EXPECT_NE(shortages[0].find(" are free, 1234500000.0 GB are needed"), std::string::npos)
      << shortages[0];
  s.spool.size = {1 << 20};
  EXPECT_TRUE(disk_shortages(s).empty()) << "a segment gets a quarter at most";
}

TEST(where_events_are, is_told_in_one_sum) {
  ledger l;
  EXPECT_EQ(where_events_are(l), "0 = 0 stored");
  l.events = {1000, 236, 0, {{"drain", 7}, {"engine", 0}, {"priority", 380}}, 377};
  l.spool.emplace().waiting = 377;
  EXPECT_EQ(where_events_are(l),
            "1000 = 236 stored + 377 on disk + 387 shed (drain 7, priority 380)");
  l.events = {10, 1, 2, {}, 7};
  l.spool->waiting = 3;
  EXPECT_EQ(where_events_are(l), "10 = 1 stored + 2 rejected + 3 on disk + 4 under way");
}

} // namespace
} // namespace l3
