// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/ledger_place.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "daemon/monitor/run_record.hpp"
#include "tests/error_of.hpp"
#include "tests/tools/temporary_folder.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

ledger account(std::uint32_t run, std::uint64_t session) {
  ledger a;
  a.program = "koto-l3d";
  a.run = run;
  a.sessions = {session};
  a.events.admitted = run;
  return a;
}

class ledger_places : public testing::Test {
protected:
  ledger_places() { std::ofstream(folder_ / "l3.toml").close(); } // a bare place is empty
  [[nodiscard]] ledger_place place(std::uint32_t node = 3) const {
    return {(folder_ / "ledgers/").string(), node};
  }
  [[nodiscard]] static std::unique_ptr<run_record_file> start(const ledger_place& at,
                                                              const ledger& l) {
    auto record =
        std::make_unique<run_record_file>(ledger_place::record_beside(at.file_of(l)), record_of(l));
    EXPECT_EQ(record->error(), "");
    return record;
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(folder_ / "ledgers" / name);
  }

  temporary_folder folder_;
};

TEST_F(ledger_places, a_file_that_no_daemon_wrote_stays) {
  const std::string file = (folder_ / "ledger.json").string();
  ledger of_receiver = account(7, 1);
  of_receiver.program = "receive";
  write_ledger(file, of_receiver);
  EXPECT_THROW(ledger_place(file, 3).prepare(), std::runtime_error);
  EXPECT_EQ(read_ledger(file).program, "receive");
  std::ofstream(file).close();
  ledger_place(file, 3).prepare(); // an empty file costs nothing
  write_ledger(file, account(7, 1));
  ledger_place(file, 3).prepare();
  EXPECT_THROW(ledger_place(folder_.path().string(), 3).prepare(), std::runtime_error)
      << "a folder";
}

TEST_F(ledger_places, a_run_that_ended_leaves_no_record) {
  place().prepare();
  const ledger l = account(7, 1);
  write_ledger(place().file_of(l), l);
  (void)start(place(), l);
  place().drop_record(place().file_of(l));
  EXPECT_TRUE(has("run000007-3-0000000000000001.json"));
  EXPECT_FALSE(has("run000007-3-0000000000000001.json.live"));

  run_record ended = record_of(account(8, 2));
  ended.ended = 1;
  start(place(), account(8, 2))->note(ended); // and was killed before the record went
  EXPECT_TRUE(place().take_crashed().empty());
  EXPECT_FALSE(has("run000008-3-0000000000000002.json.live"));
}

TEST_F(ledger_places, a_run_of_another_node_or_of_a_daemon_that_lives_is_left_alone) {
  place().prepare();
  (void)start(place(4), account(7, 1));
  (void)start(place(33), account(7, 2));
  const auto alive = start(place(), account(7, 3));
  EXPECT_TRUE(place().take_crashed().empty());
  EXPECT_TRUE(has("run000007-4-0000000000000001.json.live"));
  EXPECT_TRUE(has("run000007-3-0000000000000003.json.live"));
}

TEST_F(ledger_places, the_highest_run_is_that_of_this_node) {
  EXPECT_EQ(place().highest_run(), std::nullopt) << "there is no folder";
  place().prepare();
  EXPECT_EQ(place().highest_run(), std::nullopt);
  for (const char* name :
       {"run000007-3-1.json", "run1000000-3-2.json.crashed", "run000009-4-1.json",
        "run9-x-3-1.json", "runs-3-", "run99999999999-3-1.json", "notes"})
    std::ofstream(folder_ / "ledgers" / name) << "{}";
  EXPECT_EQ(place().highest_run(), 1'000'000U);
  EXPECT_EQ(place(4).highest_run(), 9U);
}

TEST_F(ledger_places, a_place_belongs_to_one_daemon_and_a_folder_to_several_of_other_nodes) {
  const auto refusal_of = [](ledger_place second) { return error_of([&] { second.prepare(); }); };
  const std::string here = (folder_ / "ledgers/").string();
  const std::string file = (folder_ / "ledger.json").string();
  const std::string of_folder =
      "run.ledger: node 3 in " + here +
      " is in use by another daemon: give each its own run.node, or its own run.ledger";
  const std::string of_file =
      "run.ledger: " + file + " is in use by another daemon: give each its own run.ledger";
  {
    ledger_place first = place();
    first.prepare();
    EXPECT_EQ(refusal_of(place()), of_folder);
    EXPECT_EQ(refusal_of(place(4)), "");
    ledger_place at_file(file, 3);
    at_file.prepare();
    EXPECT_EQ(refusal_of({file, 4}), of_file);
  }
  EXPECT_EQ(refusal_of(place()), "");
  EXPECT_EQ(refusal_of({file, 4}), "");
}

TEST_F(ledger_places, what_is_no_record_is_left_alone) {
  place().prepare();
  (void)start(place(), account(7, 1));
  const auto at = folder_ / "ledgers";
  std::filesystem::rename(at / "run000007-3-0000000000000001.json.live", folder_ / "elsewhere");
  std::filesystem::create_directory(at / "run000008-3-1.json.live");
  std::ofstream(at / "run000009-3-1.json.live") << "KL3L";
  std::filesystem::copy(folder_ / "elsewhere", at / "run000010-3-1.json.live");
  std::filesystem::resize_file(at / "run000010-3-1.json.live", 88 - 1);
  std::ofstream(at / "notes.live") << "of a person";
  EXPECT_TRUE(place().take_crashed().empty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at), {}), 5) << "and the lock";
  std::filesystem::copy(folder_ / "elsewhere", at / "run000011-3-1.json.live");
  ASSERT_EQ(std::filesystem::file_size(at / "run000011-3-1.json.live"), 88U);
  EXPECT_EQ(place().take_crashed().size(), 1U);
}

ledger whole_account() {
  ledger a;
  a.run = 12;
  a.sessions = {0x00123456789abcdefU, 5};
  a.events.admitted = 1000;
  a.events.forwarded = 600;
  a.events.rejected = 50;
  a.events.shed = {{"no_frame", 3}, {"engine", 4}};
  a.spool.emplace().waiting = 300;
  return a;
}

class run_records : public testing::Test {
protected:
  [[nodiscard]] std::string file() const { return (folder_ / "ledger.json.live").string(); }
  [[nodiscard]] std::unique_ptr<run_record_file> start() {
    return std::make_unique<run_record_file>(file(), record_of(ledger{}));
  }
  /// A run that noted this and died.
  void crash(const run_record& r) {
    const auto record = start();
    record->note(r);
    ASSERT_EQ(record->error(), "");
  }
  temporary_folder folder_;
};

TEST_F(run_records, a_run_that_ended_or_that_goes_on_has_not_crashed) {
  run_record last = record_of(whole_account());
  last.ended = 1;
  crash(last);
  const auto alive = start();
  EXPECT_FALSE(alive->crashed());
  alive->note(record_of(whole_account()));
  const auto another = start();
  EXPECT_FALSE(another->crashed());
  EXPECT_NE(another->error().find("belongs to another daemon"), std::string::npos);
}

TEST_F(run_records, a_file_that_is_none_says_nothing_and_is_replaced) {
  crash(record_of(whole_account()));
  const std::string good = contents(file());
  // docs/formats.md, section 13.
  ASSERT_EQ(good.size(), 88U);
  EXPECT_EQ(good.substr(0, 8), std::string("KL3L\0\0\1\0", 8));
  for (const auto& [at, number] : std::map<std::size_t, std::uint64_t>{
           {8, 0x0123456789abcdefU}, {16, 12U}, {40, 1000U}, {72, 300U}, {80, 0U}})
    EXPECT_EQ(load<std::uint64_t>(reinterpret_cast<const std::byte*>(good.data()) + at), number);
  write_file(file(), good + "what lies behind it is not read");
  EXPECT_TRUE(start()->crashed());
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() - 1), std::string(good.size(), '\0'),
        "KL3X" + good.substr(4), good.substr(0, 6) + '\7' + good.substr(7),
        std::string(5000, 'x')}) {
    write_file(file(), bad);
    EXPECT_FALSE(start()->crashed()) << bad.size();
    EXPECT_TRUE(start()->crashed()) << "of the start before";
  }
}

TEST_F(run_records, a_place_that_cannot_be_written_is_told_and_costs_nothing_else) {
  std::filesystem::create_directory(file());
  const auto record = start();
  EXPECT_FALSE(record->crashed());
  EXPECT_NE(record->error().find("ledger.json.live: Is a directory"), std::string::npos);
  record->note(record_of(whole_account())); // goes nowhere
  EXPECT_EQ(run_record_file("/dev/full", record_of(ledger{})).error(),
            "/dev/full: No space left on device: losses in a crash will be unknown");
}

} // namespace
} // namespace l3
