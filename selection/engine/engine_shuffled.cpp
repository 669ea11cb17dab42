// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/shuffled.hpp"
#include "selection/engine/engine_on.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

std::unique_ptr<engine> make_shuffled_engine(const engine_limits& limits,
                                             const selection_program* program) {
  constexpr std::uint32_t width = 32; // narrow, to be fast
  constexpr std::uint64_t seed = 1;
  return make_engine_on(
      "shuffled", limits, [] { return shuffled_queue(width, seed); }, nullptr, program);
}

} // namespace l3
