// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/run_steps.hpp"

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/spill_pause.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

/// Notes what it is told to do; a test says when a deed is done, and how it went.
class imagined_host {
public:
  struct ended_run {
    bool well = true;
    bool device_hangs = false;
  };

  [[nodiscard]] bool pauses() const { return pause; }
  [[nodiscard]] bool busy() const { return at_work; }
  [[nodiscard]] const int* in_force() const { return node ? &*node : nullptr; }
  void go_without_run() {
    if (!without) did.emplace_back("without");
    without = true;
  }
  [[nodiscard]] bool start_beginning(const run_order& order, std::function<void()> take_up,
                                     bool cuts) {
    if (beam_comes && !cuts) return false;
    takes_up = std::move(take_up);
    without = false;
    did.push_back("begin " + std::to_string(order.number));
    at_work = true;
    return true;
  }
  void finish_beginning() {
    if (!no_node.empty()) throw std::runtime_error(no_node);
    takes_up();
    node = 1;
  }
  void announce() const {
    if (!no_ledger.empty()) throw std::runtime_error(no_ledger);
  }
  void start_ending(sockets_hold what) {
    EXPECT_TRUE(node);
    did.emplace_back(what == sockets_hold::what_to_leave ? "end" : "end and take what is left");
    at_work = true;
  }
  ended_run finish_ending() {
    if (!outcome.device_hangs) node.reset();
    return outcome;
  }

  bool pause = true;
  bool beam_comes = false;
  bool at_work = false;
  bool without = false;
  std::function<void()> takes_up;
  std::optional<int> node;
  std::string no_node;
  std::string no_ledger;
  ended_run outcome;
  std::vector<std::string> did;
};

class steps_of_runs : public testing::Test {
protected:
  using deeds = std::vector<std::string>;

  bool step(bool told_to_end = false) { return steps_.step(told_to_end, now_); }
  /// What is under way is done.
  bool done(bool told_to_end = false) {
    host_.at_work = false;
    return step(told_to_end);
  }
  void ask_for(std::uint32_t number) { ASSERT_TRUE(control_.start({number, "", ""})); }
  void run_begins(std::uint32_t number) {
    ask_for(number);
    EXPECT_TRUE(step());
    EXPECT_TRUE(done());
    EXPECT_EQ(state(), run_state::running);
    host_.did.clear();
  }
  [[nodiscard]] run_state state() const { return control_.now().state; }

  time_point now_{1h};
  imagined_host host_;
  run_control control_;
  run_steps<imagined_host> steps_{host_, control_, {60s, 20s}};
};

TEST_F(steps_of_runs, a_run_begins_and_ends_in_pauses_while_the_main_thread_goes_on) {
  EXPECT_TRUE(step());
  ask_for(7);
  host_.pause = false;
  EXPECT_TRUE(step());
  EXPECT_EQ(host_.did, deeds{"without"});
  host_.pause = true;
  EXPECT_TRUE(step());
  EXPECT_TRUE(step()) << "it is still at work";
  EXPECT_EQ(state(), run_state::armed);
  EXPECT_TRUE(done());
  EXPECT_EQ(state(), run_state::running);
  ASSERT_TRUE(control_.stop());
  EXPECT_TRUE(step());
  EXPECT_TRUE(step());
  EXPECT_EQ(state(), run_state::draining);
  EXPECT_TRUE(done());
  EXPECT_EQ(state(), run_state::configured);
  EXPECT_EQ(host_.did, (deeds{"without", "begin 7", "end", "without"}));
  EXPECT_FALSE(steps_.failed());
}

TEST_F(steps_of_runs, the_run_that_waits_begins_at_once_with_what_the_ports_hold) {
  run_begins(7);
  ask_for(8);
  EXPECT_TRUE(step());
  EXPECT_TRUE(done());
  EXPECT_TRUE(done());
  EXPECT_EQ(control_.now().current->number, 8U);
  EXPECT_EQ(host_.did, (deeds{"end", "begin 8"}));
}

TEST_F(steps_of_runs, a_run_that_is_stopped_while_its_node_is_made_leaves_no_run) {
  ask_for(7);
  EXPECT_TRUE(step());
  ASSERT_TRUE(control_.stop());
  EXPECT_TRUE(step()) << "the node is being made";
  EXPECT_EQ(state(), run_state::configured);
  EXPECT_TRUE(done());
  EXPECT_EQ(state(), run_state::configured);
  EXPECT_EQ(host_.in_force(), nullptr);
  EXPECT_EQ(control_.now().failure, "");
  EXPECT_EQ(host_.did, (deeds{"begin 7", "without"}));
  EXPECT_FALSE(steps_.failed());
}

TEST_F(steps_of_runs, a_start_while_a_node_is_made_begins_its_own_run_alone) {
  ask_for(7);
  EXPECT_TRUE(step());
  ask_for(8);
  host_.pause = false; // since then the beam has come
  EXPECT_TRUE(done());
  EXPECT_EQ(state(), run_state::armed);
  // Who watches the ports sees whether the beam pauses: nobody else does without a run.
  EXPECT_EQ(host_.did, (deeds{"begin 7", "without"}));
  host_.pause = true;
  EXPECT_TRUE(step());
  EXPECT_TRUE(done());
  EXPECT_EQ(control_.now().current->number, 8U);
  EXPECT_FALSE(control_.now().stopping);
  EXPECT_EQ(host_.did, (deeds{"begin 7", "without", "begin 8"}));
}

TEST_F(steps_of_runs, no_run_begins_when_the_beam_comes_at_the_last_moment_or_there_is_no_node) {
  ask_for(7);
  host_.beam_comes = true;
  EXPECT_TRUE(step());
  EXPECT_EQ(state(), run_state::armed);
  EXPECT_EQ(host_.did, deeds{"without"}) << "which drops and counts what comes";
  host_.beam_comes = false;
  host_.no_node = "no memory";
  EXPECT_TRUE(step());
  EXPECT_TRUE(done());
  EXPECT_EQ(state(), run_state::configured);
  EXPECT_EQ(control_.now().failure, "no memory");
  EXPECT_EQ(host_.did, (deeds{"without", "begin 7", "without"}));
}

TEST_F(steps_of_runs, a_run_whose_ledger_cannot_be_written_is_drained) {
  ask_for(7);
  host_.no_ledger = "no room";
  EXPECT_TRUE(step());
  EXPECT_TRUE(done());
  EXPECT_EQ(state(), run_state::draining);
  host_.outcome.well = false;
  EXPECT_TRUE(done());
  EXPECT_EQ(state(), run_state::configured);
  EXPECT_EQ(control_.now().failure, "no room");
  EXPECT_EQ(host_.did, (deeds{"begin 7", "end", "without"}));
  EXPECT_TRUE(steps_.failed());
}

TEST_F(steps_of_runs, a_beam_that_never_pauses_holds_up_no_run_for_longer_than_a_minute) {
  host_.pause = false;
  host_.beam_comes = true;
  ask_for(7);
  EXPECT_TRUE(step());
  now_ += 59s;
  EXPECT_TRUE(step());
  EXPECT_EQ(state(), run_state::armed);
  now_ += 1s;
  EXPECT_TRUE(step());
  EXPECT_TRUE(done());
  EXPECT_EQ(state(), run_state::running);
  now_ += 1h;
  ASSERT_TRUE(control_.stop());
  EXPECT_TRUE(step());
  EXPECT_EQ(state(), run_state::running);
  now_ += 60s;
  EXPECT_TRUE(step());
  EXPECT_TRUE(done());
  EXPECT_EQ(host_.did, (deeds{"without", "begin 7", "end", "without"}));
}

TEST_F(steps_of_runs, what_takes_too_long_is_not_called_alive) {
  run_begins(7);
  EXPECT_FALSE(steps_.overdue(now_ + 24h)) << "a run may last";
  ASSERT_TRUE(control_.stop());
  EXPECT_TRUE(step());
  EXPECT_FALSE(steps_.overdue(now_ + 19s));
  EXPECT_TRUE(steps_.overdue(now_ + 21s));
  EXPECT_TRUE(done());
  EXPECT_FALSE(steps_.overdue(now_ + 21s));
  ask_for(8);
  EXPECT_TRUE(step());
  EXPECT_FALSE(steps_.overdue(now_ + 59s));
  EXPECT_TRUE(steps_.overdue(now_ + 61s));
}

TEST_F(steps_of_runs, a_device_that_hangs_ends_the_process_and_its_run_once) {
  run_begins(7);
  ask_for(8);
  EXPECT_TRUE(step());
  host_.outcome.device_hangs = true;
  EXPECT_FALSE(done());
  EXPECT_TRUE(steps_.hangs());
  EXPECT_EQ(host_.did, deeds{"end"});
}

TEST_F(steps_of_runs, a_daemon_that_is_told_to_end_drains_and_takes_what_is_left) {
  run_begins(7);
  host_.pause = false; // the end of the process waits for none
  EXPECT_TRUE(step(true));
  EXPECT_TRUE(step(true));
  EXPECT_FALSE(done(true));
  EXPECT_EQ(host_.did, deeds{"end and take what is left"});
  EXPECT_EQ(state(), run_state::configured);
}

TEST_F(steps_of_runs, a_daemon_that_is_told_to_end_begins_no_run) {
  run_begins(7);
  ask_for(8); // which waits until the other has drained
  EXPECT_TRUE(step());
  EXPECT_TRUE(step(true));
  EXPECT_FALSE(done(true));
  EXPECT_EQ(host_.did, deeds{"end"});
  EXPECT_FALSE(control_.start({9, "", ""}));
}

TEST_F(steps_of_runs, a_run_that_begins_while_the_daemon_ends_is_drained) {
  ask_for(7);
  EXPECT_TRUE(step());
  EXPECT_TRUE(step(true));
  EXPECT_TRUE(done(true));
  EXPECT_EQ(state(), run_state::draining);
  EXPECT_FALSE(done(true));
  EXPECT_EQ(host_.did, (deeds{"begin 7", "end and take what is left"}));
}

TEST(spill_pause, is_none_once_a_fragment_has_come_since_the_last_look) {
  spill_pause pause;
  time_point now{1h};
  pause.look(10, true, 0, now);
  EXPECT_FALSE(pause.is_one());
  pause.look(10, true, 0, now += 400ms);
  EXPECT_TRUE(pause.is_one());
  EXPECT_TRUE(pause.is_one(10, 0));
  EXPECT_FALSE(pause.is_one(11, 0));
  EXPECT_FALSE(pause.is_one(10, 1));
}

TEST(spill_pause, is_none_within_a_spill) {
  spill_pause pause;
  time_point now{1h};
  pause.look(10, false, 0, now);
  pause.look(10, false, 0, now += 9s);
  EXPECT_FALSE(pause.is_one());
  pause.look(10, true, 0, now += 400ms);
  EXPECT_TRUE(pause.is_one());
}

} // namespace
} // namespace l3
