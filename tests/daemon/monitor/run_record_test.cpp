// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/run_record.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

namespace l3 {
namespace {

ledger account() {
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
  run_records() {
    std::string name = (std::filesystem::temp_directory_path() / "l3-record-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~run_records() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string file() const { return (folder_ / "ledger.json.live").string(); }
  [[nodiscard]] std::unique_ptr<run_record_file> start() {
    return std::make_unique<run_record_file>(
        file(), record_of(ledger{}),
        [this](std::string_view text) { reports_.emplace_back(text); });
  }
  /// A run that noted this and died.
  void crash(const run_record& r) {
    start()->note(r);
    ASSERT_TRUE(reports_.empty()) << reports_.front();
  }
  [[nodiscard]] std::string content() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
  }

  std::filesystem::path folder_;
  std::vector<std::string> reports_;
};

TEST_F(run_records, the_next_start_knows_what_a_run_had_noted_last) {
  EXPECT_FALSE(start()->crashed()) << "there was none before";
  run_record noted = record_of(account());
  crash(record_of(ledger{}));
  crash(noted);
  const auto next = start();
  ASSERT_TRUE(next->crashed());
  EXPECT_NE(next->crashed()->started, 0U);
  noted.started = next->crashed()->started;
  EXPECT_EQ(*next->crashed(), noted);
}

TEST_F(run_records, a_run_that_ended_properly_has_not_crashed) {
  run_record last = record_of(account());
  last.ended = 1;
  crash(last);
  EXPECT_FALSE(start()->crashed());
  EXPECT_TRUE(start()->crashed()) << "but the one in between";
}

TEST_F(run_records, say_where_every_event_is) {
  const run_record r = record_of(account());
  EXPECT_EQ(in_memory(r), 43U);
  const std::string text = describe_crash(r);
  for (const char* part :
       {"(session 0123456789abcdef, run 12)", "of 1000 events admitted", "600 forwarded",
        "50 rejected", "7 shed", "300 on disk", "up to 43 were in memory"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  run_record more = r; // an event may be seen on disk and stored at once
  more.forwarded = 900;
  EXPECT_EQ(in_memory(more), 0U);
}

TEST_F(run_records, time_is_told_in_utc) {
  run_record r;
  r.noted = 1'700'000'000'999'999'999U;
  EXPECT_NE(describe_crash(r).find("2023-11-14 22:13:20 UTC"), std::string::npos)
      << describe_crash(r);
}

TEST_F(run_records, a_file_that_is_none_says_nothing_and_is_replaced) {
  crash(record_of(account()));
  const std::string good = content();
  EXPECT_EQ(good.size(), 88U);
  write(good + "what lies behind it is not read");
  EXPECT_TRUE(start()->crashed());
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() - 1), std::string(good.size(), '\0'),
        "KL3X" + good.substr(4), good.substr(0, 6) + '\7' + good.substr(7),
        std::string(5000, 'x')}) {
    write(bad);
    EXPECT_FALSE(start()->crashed()) << bad.size();
    EXPECT_TRUE(reports_.empty());
    EXPECT_TRUE(start()->crashed()) << "of the start before";
  }
}

TEST_F(run_records, the_file_is_as_documented) {
  crash(record_of(account()));
  const std::string bytes = content();
  ASSERT_EQ(bytes.size(), 88U);
  EXPECT_EQ(bytes.substr(0, 8), std::string("KL3L\0\0\1\0", 8));
  const auto number_at = [&](std::size_t at) {
    std::uint64_t n = 0;
    for (std::size_t i = 8; i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[at + i]);
    return n;
  };
  EXPECT_EQ(number_at(8), 0x0123456789abcdefU);
  EXPECT_EQ(number_at(16), 12U);
  EXPECT_EQ(number_at(40), 1000U);
  EXPECT_EQ(number_at(72), 300U);
  EXPECT_EQ(number_at(80), 0U);
}

TEST_F(run_records, a_place_that_cannot_be_written_is_told_and_costs_nothing_else) {
  std::filesystem::create_directory(file());
  const auto record = start();
  EXPECT_FALSE(record->crashed());
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_NE(reports_.front().find("ledger.json.live"), std::string::npos);
  record->note(record_of(account())); // goes nowhere
}

TEST_F(run_records, a_daemon_that_lives_has_not_crashed) {
  const auto alive = start();
  alive->note(record_of(account()));
  const auto second = start();
  EXPECT_FALSE(second->crashed());
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_NE(reports_.front().find("another daemon's"), std::string::npos) << reports_.front();
}

} // namespace
} // namespace l3
