// SPDX-License-Identifier: Apache-2.0
// The error after which this process cannot use a device any more, because its context is gone. A
// new process can use it again.
#pragma once

#include <stdexcept>

namespace l3 {

struct lost_device : std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace l3
