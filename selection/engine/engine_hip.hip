// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/hip.hpp"
#include "selection/engine/engine_on.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

template <>
inline constexpr bool can_encode<hip_queue> = false;

std::string why_no_hip() { return hip::why_no_device(); }

std::unique_ptr<engine> make_hip_engine(const engine_limits& limits,
                                        const selection_program* program) {
  return make_engine_on(
      "hip (" + hip::device_name() + ")", limits, [] { return hip_queue(); }, nullptr, program);
}

} // namespace l3
