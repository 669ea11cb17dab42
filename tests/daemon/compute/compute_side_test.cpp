// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/compute_side.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

TEST(compute_side, counts_devices_that_are_left_out) {
  daemon_settings s;
  s.building.crates = {{{0, 1, board_kind::sampling_125_mhz}}};
  s.frames.count = 2;
  s.frames.events = 1;
  s.compute.devices = {2, 5};
  s.compute.fault.kind = fault_kind::no_memory; // of the first
  const compute_side compute(s, std::nullopt, "");
  EXPECT_EQ(compute.snapshot().devices_left_out, 1U);
  EXPECT_EQ(compute.engine().frames().size(), 2U) << "of the other one";
}

} // namespace
} // namespace l3
