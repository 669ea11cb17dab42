// SPDX-License-Identifier: Apache-2.0
// Tests that need a device are skipped, with the reason, on machines without one. L3_REQUIRE_GPU=1
// turns the skip into a failure.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace l3::test {

/// Returns `why_not`; fails the test if it is not empty and a device is required.
inline std::string why_no_device_here(std::string why_not) {
  const char* const required = std::getenv("L3_REQUIRE_GPU");
  if (!why_not.empty() && required != nullptr && std::string_view(required) == "1") {
    ADD_FAILURE() << "L3_REQUIRE_GPU=1, but " << why_not;
  }
  return why_not;
}

} // namespace l3::test
