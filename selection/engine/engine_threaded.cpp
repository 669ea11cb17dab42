// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/threaded.hpp"
#include "selection/engine/engine_on.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

std::unique_ptr<engine> make_threaded_engine(const engine_limits& limits,
                                             const selection_program* program) {
  // A width that divides no kernel's loop: otherwise a lane might read what it wrote itself, and a
  // missing sync() would stay hidden.
  constexpr std::uint32_t width = 3;
  return make_engine_on(
      "threaded (" + std::to_string(width) + " lanes)", limits,
      [] { return threaded_queue(width); }, nullptr, program);
}

} // namespace l3
