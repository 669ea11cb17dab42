// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/sycl.hpp"
#include "selection/engine/engine_on.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

std::string why_no_sycl() { return sycl_device::why_no_device(); }

std::unique_ptr<engine> make_sycl_engine(const engine_limits& limits,
                                         const selection_program* program) {
  // With one pass, blocks would wait for one another.
  engine_limits two_passes = limits;
  two_passes.packing = packing_form::two_passes;
  return make_engine_on(
      "sycl (" + sycl_device::name() + ")", two_passes, [] { return sycl_queue(); }, nullptr,
      program);
}

} // namespace l3
