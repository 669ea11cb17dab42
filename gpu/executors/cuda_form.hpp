// SPDX-License-Identifier: Apache-2.0
// The code that runs as a kernel on CUDA devices. A kernel launched as measure_boards runs, on a
// device, the type cuda_form<measure_boards>; by default that is the kernel itself. A special form
// has its own width and shared memory and the same arguments, writes the same bytes, and gives with
// blocks_for(n) the number of CUDA blocks for the work of n portable ones. The portable form of
// such a kernel is not compiled for devices. A form may set `resident`, the number of its CUDA
// blocks for which a multiprocessor must have registers.
#pragma once

namespace l3 {

template <class Kernel>
struct cuda_form {
  using type = Kernel;
};

} // namespace l3
