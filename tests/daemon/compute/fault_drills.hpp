// SPDX-License-Identifier: Apache-2.0
// Kernels that fail on purpose: some never end, one faults.
#pragma once

#include "gpu/memory/buffer.hpp"

namespace l3::test {

/// While it exists and is not released, kernels that do not end occupy all multiprocessors, so that
/// no other kernel begins. Copies go on.
class hung_kernels {
public:
  hung_kernels(); ///< returns when all of them run
  ~hung_kernels();
  hung_kernels(const hung_kernels&) = delete;
  hung_kernels& operator=(const hung_kernels&) = delete;
  void release();

private:
  buffer flags_; ///< mapped: the end, and the number of blocks that run
};

/// Runs a kernel with a trap, after which this process cannot use the device any more.
void trap_the_device();

} // namespace l3::test
