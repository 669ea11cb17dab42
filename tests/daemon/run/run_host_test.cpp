// SPDX-License-Identifier: Apache-2.0
// Runs of small nodes: their ledgers when the disk fails, their numbers, and what is known between
// runs.
#include "daemon/run/run_host.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "daemon/run/run_reasons.hpp"
#include "daemon/run/run_steps.hpp"
#include "daemon/words.hpp"
#include "tests/transport/output/link_ends.hpp"
#include "tests/transport/output/spool_blocks.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

class hosts_of_runs : public testing::Test {
protected:
  hosts_of_runs() : ledgers_(std::filesystem::path(folder_.path()) / "ledgers") {}

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
    s.outbox = {kibibytes(256), {64 << 10}, 1ms};
    s.spool.folder.clear();
    s.forward = test::link_to("tcp://127.0.0.1:1");
    s.run.drain_time_limit = 1ms; // no receiver is there
    s.run.number = 5;
    s.run.ledger = ledgers_.string() + "/";
    return s;
  }
  static std::string text_of(const daemon_settings&) { return {}; }
  void make_host(const daemon_settings& s) {
    host_.emplace(
        s, text_of, [this](const daemon_settings& of_run) { return guard(of_run); },
        stop_question(), [] {});
  }
  void make_host() { make_host(settings()); }
  std::string guard(const daemon_settings& of_run) const {
    if (while_made_) while_made_();
    return selections_fit_ || of_run.selection.lines.empty() ? "" : "a selection needs too much";
  }
  void lose_disk() { // a user who may do everything could write to a folder without permissions
    std::filesystem::rename(ledgers_, ledgers_.string() + ".moved"); // a ledger may be in writing
    std::ofstream(ledgers_) << "no folder";
  }
  run_host::ended_run end() {
    host_->start_ending(sockets_hold::what_to_leave);
    EXPECT_TRUE(test::eventually([&] { return !host_->busy(); }));
    return host_->finish_ending();
  }

  test::scratch_folder folder_;
  std::filesystem::path ledgers_;
  bool selections_fit_ = true;
  std::function<void()> while_made_; ///< on the thread that makes a node
  std::optional<run_host> host_;
};

TEST_F(hosts_of_runs, a_run_ends_though_its_ledger_cannot_be_written) {
  make_host();
  host_->begin({7, "", ""});
  host_->announce();
  lose_disk();
  const auto ended = end();
  EXPECT_FALSE(ended.well);
  EXPECT_EQ(ended.ledger, "");
  EXPECT_EQ(host_->in_force(), nullptr);
  EXPECT_EQ(host_->last()->number, 7U);
}

TEST_F(hosts_of_runs, a_run_without_a_first_ledger_can_be_ended) {
  make_host();
  host_->begin({7, "", ""});
  lose_disk();
  EXPECT_THROW(host_->announce(), std::system_error);
  EXPECT_FALSE(end().well);
  EXPECT_EQ(host_->in_force(), nullptr);
}

TEST_F(hosts_of_runs, a_run_begins_while_the_caller_goes_on) {
  make_host();
  host_->keep_ports();
  host_->go_without_run();
  EXPECT_FALSE(host_->start_beginning({7, "", ""})) << "the ports were not watched for long enough";
  host_->go_without_run();
  ASSERT_TRUE(test::eventually([&] { return host_->pauses(); }));
  ASSERT_TRUE(host_->start_beginning({7, "", ""}));
  EXPECT_EQ(host_->snapshot().account.run, 0U) << "none yet";
  ASSERT_TRUE(test::eventually([&] { return !host_->busy(); }));
  host_->finish_beginning();
  host_->announce();
  EXPECT_EQ(host_->snapshot().account.run, 7U);
  EXPECT_TRUE(end().well);
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

TEST_F(hosts_of_runs, a_run_that_is_stopped_while_its_node_is_made_takes_nothing) {
  daemon_settings s = settings();
  s.spool.folder = folder_.path() + "/spool";
  make_host(s);
  host_->keep_ports();
  run_control control;
  run_steps<run_host> steps(*host_, control, {60s, 20s});
  const auto become = [&](const auto& is_so) {
    return test::eventually([&] { return steps.step(false, steady_clock::now()) && is_so(); });
  };
  std::atomic<bool> stopped = false;
  while_made_ = [&] {
    if (!stopped.exchange(true)) static_cast<void>(control.stop());
  };
  ASSERT_TRUE(control.start({7, "", ""}));
  ASSERT_TRUE(become([&] { return stopped && !host_->busy(); }));
  ASSERT_TRUE(steps.step(false, steady_clock::now()));
  EXPECT_EQ(control.now().state, run_state::configured);
  EXPECT_EQ(host_->in_force(), nullptr);
  EXPECT_FALSE(host_->last());
  EXPECT_FALSE(host_->was_used(7, {}));
  for (const auto& file : std::filesystem::directory_iterator(ledgers_))
    EXPECT_NE(file.path().extension(), ".json") << file.path();

  ASSERT_TRUE(control.start({7, "", "another"})); // the folder of the spool and the ports are free
  ASSERT_TRUE(become([&] { return control.now().state == run_state::running; }));
  EXPECT_EQ(host_->snapshot().account.comment, "another");
  EXPECT_TRUE(test::eventually([&] { return !steps.step(true, steady_clock::now()); }));
  EXPECT_FALSE(steps.failed());
}

TEST_F(hosts_of_runs, a_menu_that_needs_more_memory_than_there_is_begins_no_run) {
  selections_fit_ = false;
  daemon_settings s = settings();
  s.building.crates = daemon_settings().building.crates; // which the menu is for
  make_host(s);
  const run_order with_menu{7, built_in, ""};
  const auto reasons = reasons_against(with_menu, s, {}, *host_);
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons.back(), "a selection needs too much");
  EXPECT_TRUE(reasons_against_menu({7, "", ""}, s, *host_).empty());
  EXPECT_NE(reasons_against_menu({7, "/there/is/no/menu", ""}, s, *host_).front().find("/no/menu"),
            std::string::npos);
  EXPECT_THROW(host_->begin(with_menu), std::runtime_error) << "the file may have changed since";
}

TEST_F(hosts_of_runs, a_mistake_is_told_once_and_of_its_own_file) {
  daemon_settings s = settings(); // of which the readout is not KOTO's
  make_host(s);
  const auto unread = reasons_against_menu({7, "/there/is/no/menu", ""}, s, *host_);
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_TRUE(unread[0].starts_with("the menu: /there/is/no/menu: cannot be read")) << unread[0];
  const auto other = reasons_against_menu({7, built_in, ""}, s, *host_);
  ASSERT_EQ(other.size(), 1U);
  EXPECT_TRUE(other[0].starts_with("the detector (selection.detector): built-in detector.toml: "))
      << other[0];
  s.building.crates = daemon_settings().building.crates;
  s.selection.lines = s.selection.shadow = built_in;
  s.selection.calibration = folder_.path() + "/cal.csv";
  std::ofstream(s.selection.calibration) << "x";
  const auto calibration = reasons_against_menu({7, "", ""}, s, *host_);
  ASSERT_EQ(calibration.size(), 1U) << "and not once more of the shadow menu";
  EXPECT_TRUE(calibration[0].starts_with("the calibration (selection.calibration): " +
                                         s.selection.calibration))
      << calibration[0];
}

TEST_F(hosts_of_runs, a_number_is_given_once) {
  make_host();
  EXPECT_EQ(host_->next_number({}), 5U);
  EXPECT_FALSE(host_->was_used(5, {}));
  host_->begin({std::numeric_limits<std::uint32_t>::max() - 1, "", ""});
  host_->announce();
  EXPECT_EQ(host_->next_number({}), std::numeric_limits<std::uint32_t>::max());
  static_cast<void>(end());
  make_host(); // another start
  EXPECT_TRUE(host_->was_used(std::numeric_limits<std::uint32_t>::max() - 1, {}));
  EXPECT_FALSE(host_->was_used(7, {}));
  host_->begin({std::numeric_limits<std::uint32_t>::max(), "", ""});
  EXPECT_EQ(host_->next_number({}), std::nullopt);
  static_cast<void>(end());
}

TEST_F(hosts_of_runs, a_number_stays_used_when_its_ledger_is_taken_away) {
  make_host();
  const auto run = [&](std::uint32_t number) {
    host_->begin({number, "", ""});
    host_->announce();
    static_cast<void>(end());
    for (const auto& file : std::filesystem::directory_iterator(ledgers_))
      if (file.path().extension() == ".json") std::filesystem::remove(file);
  };
  run(50);
  run(40);
  EXPECT_TRUE(host_->was_used(50, {}));
  EXPECT_TRUE(host_->was_used(40, {}));
  EXPECT_EQ(host_->next_number({}), 51U);
  make_host(); // another start
  EXPECT_EQ(host_->next_number({}), 51U);
}

TEST_F(hosts_of_runs, the_note_of_the_last_number_is_never_below_a_number_that_was_used) {
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
    remove(".json"); // to an archive
    make_host();
    return host_->next_number({});
  };
  make_host();
  run(50);
  remove(".last-run");
  make_host();
  run(5); // the note is not there, and a ledger is
  EXPECT_EQ(next_of_another_start(), 51U);
  run(60);
  std::ofstream(ledgers_ / "node0.last-run") << "6x";
  make_host();
  run(6); // the note is damaged
  EXPECT_EQ(next_of_another_start(), 61U);
  std::ofstream(ledgers_ / "run000070-0-0123456789abcdef.json") << "{}";
  run(7); // the note is lower than a ledger
  EXPECT_EQ(next_of_another_start(), 71U);
  run(80);
  remove(".json");
  remove(".last-run");
  run(8); // only the daemon knows of the last one
  EXPECT_EQ(next_of_another_start(), 81U);
}

TEST_F(hosts_of_runs, what_waits_on_disk_is_told_of_between_runs) {
  daemon_settings s = settings();
  s.spool.folder = folder_.path() + "/spool";
  {
    spool disk(s.spool);
    ASSERT_FALSE(disk.append(test::spool_block(1, 1)));
  }
  make_host(s);
  host_->keep_ports();
  host_->go_without_run();
  ASSERT_TRUE(test::eventually([&] { return host_->state().worst() == trouble::spool_waits; }));
  const metrics_snapshot now = host_->snapshot();
  ASSERT_TRUE(now.spool);
  EXPECT_EQ(now.spool->events, 3U);
  EXPECT_GT(now.spool->room, 0U);
  ASSERT_TRUE(test::eventually([&] { return host_->pauses(); }));
  ASSERT_TRUE(host_->start_beginning({7, "", ""}));
  ASSERT_TRUE(test::eventually([&] { return !host_->busy(); }));
  host_->finish_beginning();
  host_->announce();
  EXPECT_FALSE(host_->state().has[static_cast<std::size_t>(trouble::spool_waits)]);
  EXPECT_EQ(host_->snapshot().spool->events, 3U) << "the node has them";
  static_cast<void>(end());
  host_->go_without_run();
  EXPECT_TRUE(test::eventually([&] { return host_->state().worst() == trouble::spool_waits; }));
}

TEST_F(hosts_of_runs, a_crash_is_told_of_before_a_run_begins) {
  make_host();
  {
    run_record crashed;
    crashed.magic = run_record::right_magic;
    crashed.run = 7;
    crashed.admitted = 20;
    crashed.forwarded = 17;
    const run_record_file file((ledgers_ / "run000007-0-1234567812345678.json.live").string(),
                               crashed, [](std::string_view) {});
  }
  EXPECT_FALSE(host_->snapshot().last_run_crashed);
  host_->tell_of_crashes();
  EXPECT_TRUE(host_->snapshot().last_run_crashed);
  EXPECT_EQ(host_->snapshot().last_run_lost, 3U);
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

TEST_F(hosts_of_runs, no_device_is_lost_where_there_was_no_run) {
  make_host();
  EXPECT_FALSE(host_->device().lost);
  EXPECT_TRUE(host_->device().settled);
}

} // namespace
} // namespace l3
