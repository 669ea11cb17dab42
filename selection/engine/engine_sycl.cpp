// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/sycl.hpp"
#include "selection/engine/engine_on.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

std::string why_no_sycl() { return sycl_device::why_no_device(); }

std::unique_ptr<engine> make_sycl_engine(const engine_limits& limits,
                                         const selection_program* program) {
  return make_engine_on(
      "sycl (" + sycl_device::name() + ")", limits, [] { return sycl_queue(); }, nullptr, program);
}

} // namespace l3
