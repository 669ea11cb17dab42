// SPDX-License-Identifier: Apache-2.0
#include "monitor/process_usage.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "monitor/recent_rate.hpp"

namespace l3 {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TEST(process_usage, follows_what_the_process_takes) {
  constexpr std::size_t reserved = std::size_t{4} << 30;
  constexpr std::size_t touched = 16 << 20;
  const process_usage before = usage_of_this_process();
  void* const memory = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (std::size_t at = 0; at < touched; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  std::FILE* const file = std::fopen("/dev/null", "r");
  std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const process_usage after = usage_of_this_process();
  other.request_stop();
  std::fclose(file);
  ::munmap(memory, reserved);
  EXPECT_GE(after.virtual_bytes, before.virtual_bytes + reserved / 2) << "other threads end";
  EXPECT_GE(after.resident_bytes, before.resident_bytes + touched / 2) << "some may be given back";
  EXPECT_EQ(after.open_files, before.open_files + 1);
  EXPECT_GE(after.threads, 2U) << "one that has ended may still be counted";
  EXPECT_GT(after.most_files, after.open_files);
}

TEST(process_usage, knows_when_the_process_started_and_what_it_has_used) {
  const process_usage u = usage_of_this_process();
  EXPECT_LE(u.started, now() + 0.1) << "to a clock tick";
  EXPECT_GT(u.started, now() - 600);
  double used = usage_of_this_process().cpu;
  const double first = used;
  while (used < first + 0.01) used = usage_of_this_process().cpu;
  EXPECT_LT(used, now() - u.started + 10);
}

TEST(process_usage, is_read_behind_whatever_name_the_program_has) {
  constexpr std::string_view rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 70 0 90 100 110 12";
  const stat_line right{.threads = 70, .started = 90, .virtual_bytes = 100, .pages = 110};
  for (const std::string name : {"koto", "a b", ") S 1 2 (", ""})
    EXPECT_EQ(stat_line_of("42 (" + name + ")" + std::string(rest)), right) << name;
  EXPECT_EQ(stat_line_of(""), stat_line());
  EXPECT_EQ(stat_line_of("42 (koto) S 1 2"), stat_line()) << "cut";
  EXPECT_EQ(stat_line_of("42 (koto) S a b c d e f g h i j k l m n o p q -1 r s t u").threads, 0U);
}

TEST(process_usage, has_the_names_that_clients_of_prometheus_give_it) {
  const std::string text = render_metrics(families_of({.cpu = 2.5, .threads = 7}));
  EXPECT_NE(
      text.find("\n# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 2.5\n"),
      text.npos)
      << text;
  EXPECT_NE(text.find("\nprocess_threads 7\n"), text.npos) << text;
  EXPECT_EQ(text.find("koto_l3"), text.npos);
}

TEST(recent_rate, is_that_of_the_window_and_begins_anew_when_the_count_falls) {
  using namespace std::chrono_literals;
  recent_rate rate(10s);
  const time_point start{};
  EXPECT_EQ(rate.per_second(), 0);
  rate.note(0, start);
  EXPECT_EQ(rate.per_second(), 0);
  rate.note(50, start + 5s);
  EXPECT_DOUBLE_EQ(rate.per_second(), 10);
  for (int s = 6; s <= 30; ++s) rate.note(50, start + std::chrono::seconds(s));
  EXPECT_EQ(rate.per_second(), 0) << "what was before the window counts no more";
  rate.note(10, start + 31s);
  EXPECT_EQ(rate.per_second(), 0);
  rate.note(20, start + 32s);
  EXPECT_DOUBLE_EQ(rate.per_second(), 10);
}

} // namespace
} // namespace l3
