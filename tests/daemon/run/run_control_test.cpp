// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/run_control.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using step = run_control::step;

run_order run(std::uint32_t number) { return {number, "", ""}; }

class run_controls : public testing::Test {
protected:
  void comes_into_force(std::uint32_t number) {
    EXPECT_TRUE(control_.comes_into_force(run(number)));
    control_.begun();
  }
  void start(std::uint32_t number) {
    const auto accepted = control_.start(run(number));
    ASSERT_TRUE(accepted);
    EXPECT_EQ(accepted->next, run(number));
  }
  bool stop() { return control_.stop().has_value(); }
  [[nodiscard]] step due() const { return control_.due().what; }
  [[nodiscard]] run_state state() const { return control_.now().state; }

  run_control control_;
};

TEST_F(run_controls, a_node_that_cannot_receive_leaves_no_run_in_force) {
  start(7);
  const run_control::due_step made = control_.due();
  EXPECT_TRUE(control_.comes_into_force(run(7)));
  EXPECT_TRUE(stop());
  control_.failed(made, "no port");
  EXPECT_EQ(state(), run_state::configured);
  EXPECT_EQ(control_.now().current, std::nullopt);
  EXPECT_FALSE(control_.now().stopping);
}

TEST_F(run_controls, what_is_asked_for_when_a_node_receives_ends_its_run) {
  start(7);
  EXPECT_TRUE(control_.comes_into_force(run(7)));
  EXPECT_EQ(state(), run_state::armed) << "until the main thread has the node";
  EXPECT_EQ(due(), step::nothing);
  EXPECT_TRUE(stop());
  EXPECT_EQ(control_.now().current, run(7));
  control_.begun();
  EXPECT_EQ(due(), step::end);
  control_.draining();
  control_.ended();
  EXPECT_EQ(state(), run_state::configured);

  start(8);
  EXPECT_TRUE(control_.comes_into_force(run(8)));
  start(9);
  control_.begun();
  EXPECT_EQ(control_.now().current, run(8));
  EXPECT_EQ(control_.now().next, run(9));
  EXPECT_EQ(due(), step::end);
}

TEST_F(run_controls, an_order_that_is_accepted_again_while_it_fails_waits) {
  for (const bool came_into_force : {false, true}) {
    start(7);
    const run_control::due_step made = control_.due();
    if (came_into_force) {
      EXPECT_TRUE(control_.comes_into_force(made.order));
    }
    start(7);
    control_.failed(made, "no port");
    EXPECT_EQ(state(), run_state::armed) << came_into_force;
    EXPECT_EQ(control_.due().order, run(7));
    EXPECT_FALSE(control_.now().stopping);
  }
}

} // namespace
} // namespace l3
