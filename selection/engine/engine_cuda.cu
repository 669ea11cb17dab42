// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/cuda.cuh"
#include "selection/engine/engine_on.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

std::string why_no_cuda(int device) { return cuda::why_no_device(device); }
int cuda_devices() { return cuda::devices(); }
std::string cuda_address(int device) { return cuda::pci_address(device); }
device_size cuda_size(int device) { return cuda::size_of(device); }

std::unique_ptr<engine> make_cuda_engine(const engine_limits& limits,
                                         const selection_program* program, int device) {
  cuda::use(device); // also the device of its memory
  return make_engine_on(
      "cuda (" + cuda::device_name() + ")", limits, [device] { return cuda_queue(device); },
      nullptr, program);
}

} // namespace l3
