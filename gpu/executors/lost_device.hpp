// SPDX-License-Identifier: Apache-2.0
// The error after which a device gives nothing more to this process, whatever is tried: its context
// is gone. A new process can have the device again.
#pragma once

#include <stdexcept>

namespace l3 {

struct lost_device : std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace l3
