// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/ledger_place.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "daemon/monitor/run_record.hpp"

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
  ledger_places() {
    std::string name = (std::filesystem::temp_directory_path() / "l3-ledgers-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~ledger_places() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] ledger_place place(std::uint32_t node = 3) const {
    return {(folder_ / "ledgers/").string(), node};
  }
  [[nodiscard]] static std::unique_ptr<run_record_file> start(const ledger_place& at,
                                                              const ledger& l) {
    return std::make_unique<run_record_file>(ledger_place::record_beside(at.file_of(l)),
                                             record_of(l),
                                             [](std::string_view text) { ADD_FAILURE() << text; });
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(folder_ / "ledgers" / name);
  }

  std::filesystem::path folder_;
};

TEST_F(ledger_places, a_folder_has_a_file_for_each_run_and_session) {
  EXPECT_TRUE(place().is_folder());
  EXPECT_EQ(place().file_of(account(123, 0xab)),
            (folder_ / "ledgers/run000123-3-00000000000000ab.json").string());
  EXPECT_EQ(place(0).file_of(account(4'294'967'295, 1)),
            (folder_ / "ledgers/run4294967295-0-0000000000000001.json").string());
}

TEST_F(ledger_places, a_file_is_the_ledger_of_every_run) {
  const ledger_place file("ledger.json", 3);
  EXPECT_FALSE(file.is_folder());
  EXPECT_EQ(file.file_of(account(1, 1)), "ledger.json");
  EXPECT_EQ(file.file_of(account(2, 5)), "ledger.json");
  EXPECT_TRUE(ledger_place("", 3).none());
}

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
  EXPECT_THROW(ledger_place(folder_.string(), 3).prepare(), std::runtime_error) << "a folder";
}

TEST_F(ledger_places, the_folder_is_made_but_none_above_it) {
  place().prepare();
  place().prepare();
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "ledgers"));
  EXPECT_TRUE(has("node3.lock"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "ledgers"), {}), 1);
  EXPECT_THROW(ledger_place((folder_ / "none/ledgers/").string(), 3).prepare(), std::runtime_error);
  EXPECT_THROW(ledger_place((folder_ / "none/ledger.json").string(), 3).prepare(),
               std::runtime_error);
  EXPECT_THROW(ledger_place("/proc/ledgers/", 3).prepare(), std::runtime_error);
}

TEST_F(ledger_places, each_run_that_crashed_is_told_once) {
  place().prepare();
  for (const std::uint32_t run : {7U, 8U}) (void)start(place(), account(run, run));
  const auto crashed = place().take_crashed();
  ASSERT_EQ(crashed.size(), 2U);
  EXPECT_EQ(crashed[0].run, 7U);
  EXPECT_EQ(crashed[1].admitted, 8U);
  EXPECT_TRUE(place().take_crashed().empty());
  EXPECT_TRUE(has("run000007-3-0000000000000007.json.crashed")) << "its numbers stay readable";
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
  const auto refusal_of = [](ledger_place second) {
    try {
      second.prepare();
    } catch (const std::runtime_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
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

} // namespace
} // namespace l3
