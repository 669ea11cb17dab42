// SPDX-License-Identifier: Apache-2.0
#include "daemon/renewal.hpp"

#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "daemon/spill_pause.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using answer = device_probe::answer;

struct rig {
  explicit rig(bool managed = true, std::chrono::nanoseconds least_age = 10min)
      : what(
            {least_age, managed, now},
            [this](time_point) {
              ++asked;
              return says;
            },
            [this](std::string_view text) { notes.emplace_back(text); }) {}

  bool due(const renewal_view& v) { return what.is_due(v, now); }

  time_point now{1h};
  answer says = answer::yes;
  int asked = 0;
  std::vector<std::string> notes;
  renewal what;
};

constexpr renewal_view at_best{true, false, true, true};

TEST(renewal, is_due_between_spills_when_everything_is_settled) {
  rig r;
  r.now += 10min;
  EXPECT_FALSE(r.due({false, false, true, true})) << "the device is not lost";
  EXPECT_EQ(r.asked, 0);
  EXPECT_FALSE(r.due({true, false, false, true})) << "in a spill";
  EXPECT_FALSE(r.due({true, false, true, false})) << "events in memory only";
  EXPECT_TRUE(r.due(at_best));
  EXPECT_EQ(r.asked, 1) << "and never again after a yes";
  EXPECT_EQ(r.notes.size(), 1U);
}

TEST(renewal, does_not_wait_for_a_pause_when_the_device_holds_every_frame) {
  rig r;
  r.now += 10min;
  EXPECT_TRUE(r.due({false, true, false, true}));
}

TEST(renewal, waits_until_the_process_is_old_enough) {
  rig r;
  r.now += 10min - 1ns;
  EXPECT_FALSE(r.due(at_best));
  EXPECT_EQ(r.asked, 0);
  r.now += 1ns;
  EXPECT_TRUE(r.due(at_best));
}

TEST(renewal, never_comes_without_a_service_manager_or_if_it_is_not_wanted) {
  rig unmanaged(false);
  rig unwanted(true, 0ns);
  for (rig* const r : {&unmanaged, &unwanted}) {
    r->now += 24h;
    for (int n = 0; n < 3; ++n) EXPECT_FALSE(r->due(at_best));
    EXPECT_EQ(r->asked, 0);
    ASSERT_EQ(r->notes.size(), 1U) << "said once";
    EXPECT_NE(r->notes[0].find("restart the daemon between spills"), std::string::npos);
  }
}

TEST(renewal, does_not_end_a_process_whose_successor_would_not_have_the_device_either) {
  rig r;
  r.now += 10min;
  r.says = answer::no;
  EXPECT_FALSE(r.due(at_best));
  r.says = answer::yes;
  r.now += 59s;
  EXPECT_FALSE(r.due(at_best)) << "it is asked once a minute";
  EXPECT_EQ(r.asked, 1);
  r.now += 1s;
  r.says = answer::not_yet;
  EXPECT_FALSE(r.due(at_best));
  r.says = answer::yes;
  EXPECT_TRUE(r.due(at_best));
}

TEST(device_probe, takes_the_exit_code_for_the_answer) {
  const auto ask = [](std::vector<std::string> command) {
    device_probe p(std::move(command));
    answer a = answer::not_yet;
    while ((a = p.ask(time_point{1h})) == answer::not_yet) std::this_thread::yield();
    return a;
  };
  EXPECT_EQ(ask({"/bin/true"}), answer::yes);
  EXPECT_EQ(ask({"/bin/false"}), answer::no);
  EXPECT_EQ(ask({"/nowhere/a-program"}), answer::no);
}

TEST(device_probe, takes_an_exit_code_that_is_not_kept_for_a_no) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  device_probe p({"/bin/true"});
  answer a = answer::not_yet;
  while ((a = p.ask(time_point{1h})) == answer::not_yet) std::this_thread::yield();
  EXPECT_EQ(a, answer::no);
  (void)std::signal(SIGCHLD, before);
}

pid_t not_ended = 0;

/// As of a program that waits in a call of its driver.
TEST(device_probe, does_not_wait_for_a_program_that_no_signal_ends) {
  {
    device_probe p({"/bin/sleep", "1000"}, [](pid_t child, int) {
      not_ended = child;
      return 0;
    });
    time_point now{};
    EXPECT_EQ(p.ask(now), answer::not_yet);
    EXPECT_EQ(p.ask(now += std::chrono::seconds(31)), answer::no);
    EXPECT_EQ(p.ask(now), answer::no) << "and starts no other one";
    const pid_t first = std::exchange(not_ended, 0);
    EXPECT_EQ(::kill(first, SIGKILL), 0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (p.ask(now) == answer::no && std::chrono::steady_clock::now() < end) {
    }
    EXPECT_EQ(p.ask(now), answer::not_yet) << "another one runs";
    EXPECT_EQ(not_ended, 0);
  }
  ASSERT_NE(not_ended, 0);
  EXPECT_EQ(::kill(not_ended, SIGKILL), 0);
  EXPECT_EQ(::waitpid(not_ended, nullptr, 0), not_ended);
}

TEST(device_probe, waits_half_a_minute) {
  device_probe p({"/bin/sleep", "1000"});
  EXPECT_EQ(p.ask(time_point{1h}), answer::not_yet);
  EXPECT_EQ(p.ask(time_point{1h} + 29s), answer::not_yet);
  EXPECT_EQ(p.ask(time_point{1h} + 30s), answer::no);
}

TEST(spill_pause, begins_when_a_spill_has_ended_and_nothing_comes) {
  spill_pause p;
  time_point now{1h};
  std::uint64_t seen = 0;
  const auto look = [&](std::uint64_t more, bool ended, std::uint64_t open = 0) {
    p.look(seen += more, ended, open, now += 500ms);
    return p.is_one();
  };
  EXPECT_FALSE(look(100, false));
  EXPECT_FALSE(look(0, false)) << "a gap in a spill";
  EXPECT_FALSE(look(100, true));
  EXPECT_TRUE(look(0, false));
  EXPECT_FALSE(look(1, false)) << "the next spill";
  EXPECT_FALSE(look(0, true, 1)) << "an event is open";
  EXPECT_TRUE(look(0, false));
}

TEST(spill_pause, comes_with_long_silence_where_senders_mark_no_end) {
  spill_pause p;
  time_point now{1h};
  p.look(5, false, 0, now);
  p.look(5, false, 0, now += 9s);
  EXPECT_FALSE(p.is_one());
  p.look(5, false, 0, now += 1s);
  EXPECT_TRUE(p.is_one());
}

} // namespace
} // namespace l3
