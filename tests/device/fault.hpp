// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace l3::ptx {

/// What a kernel did that a device would punish, or would not even notice.
struct device_fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace l3::ptx
