// SPDX-License-Identifier: Apache-2.0
// Which code runs as a kernel on CUDA devices. A kernel that is launched as measure_boards runs, on
// a device, the type that cuda_form<measure_boards> names; where nothing else is said that is the
// kernel itself. A special form has its own width and shared memory and the same arguments, writes
// the same bytes, and says by blocks_for(n) how many CUDA blocks do the work of n portable ones.
// The portable form of such a kernel is not compiled for devices. A form may say by `resident` how
// many of its CUDA blocks a multiprocessor must have registers for, and by `takes_turns` that its
// blocks go on until no work is left.
#pragma once

namespace l3 {

template <class Kernel>
struct cuda_form {
  using type = Kernel;
};

} // namespace l3
