// SPDX-License-Identifier: Apache-2.0
#include "selection/engine.hpp"

#include <stdexcept>

#include "selection/make_engine.hpp"

namespace l3 {

std::unique_ptr<engine> make_engine(const compute_settings& settings, const engine_limits& limits,
                                    const selection_program* program) {
  if (settings.where == backend::automatic || settings.where == backend::cuda) {
    if (const std::string why_not = why_no_cuda(); why_not.empty()) {
      return make_cuda_engine(limits, program);
    } else if (settings.where == backend::cuda) {
      throw std::runtime_error("backend cuda was asked for, but " + why_not);
    }
  }
  return make_cpu_engine(settings, limits, program);
}

} // namespace l3
