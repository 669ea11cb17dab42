// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "selection/engine/make_engine.hpp"

namespace l3 {

std::string why_no_sycl() { return "this program was built without SYCL (L3_SYCL)"; }

std::unique_ptr<engine> make_sycl_engine(const engine_limits&, const selection_program*) {
  std::abort();
}

} // namespace l3
