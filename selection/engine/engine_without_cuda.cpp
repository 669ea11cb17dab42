// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "selection/engine/make_engine.hpp"

namespace l3 {

std::string why_no_cuda(int) { return "this program was built without CUDA"; }

int cuda_devices() { return 0; }
std::string cuda_address(int) { return {}; }
device_size cuda_size(int) { return {}; }

std::unique_ptr<engine> make_cuda_engine(const engine_limits&, const selection_program*, int) {
  std::abort();
}

} // namespace l3
