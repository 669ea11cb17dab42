// SPDX-License-Identifier: Apache-2.0
// Creates an engine for a given kind of queue and chooses its plan: selecting_plan for a selection,
// else packing_plan. See basic_engine for the arguments.
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "selection/engine/basic_engine.hpp"
#include "selection/engine/selecting_plan.hpp"
#include "selection/packing/packing_plan.hpp"

namespace l3 {

/// An engine that keeps every event.
template <class MakeQueue>
[[nodiscard]] std::unique_ptr<engine>
make_keeping_engine_on(std::string_view name, const engine_limits& limits,
                       const MakeQueue& make_queue, std::shared_ptr<void> parts = nullptr) {
  using queue = std::invoke_result_t<MakeQueue>;
  return std::make_unique<basic_engine<queue, packing_plan<keep_all>>>(name, limits, make_queue,
                                                                       std::move(parts));
}

/// An engine that runs the program; without a program it keeps every event.
template <class MakeQueue>
[[nodiscard]] std::unique_ptr<engine>
make_engine_on(std::string_view name, const engine_limits& limits, const MakeQueue& make_queue,
               std::shared_ptr<void> parts, const selection_program* program) {
  using queue = std::invoke_result_t<MakeQueue>;
  if (program == nullptr) {
    return make_keeping_engine_on(name, limits, make_queue, std::move(parts));
  }
  return std::make_unique<basic_engine<queue, selecting_plan<queue>>>(
      name, limits, make_queue, std::move(parts),
      selecting_plan<queue>(*program, limits.batch, make_queue()));
}

} // namespace l3
