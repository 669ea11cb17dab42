// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/engine/test_engines.hpp"

#include "gpu/executors/serial.hpp"
#include "selection/engine/engine_on.hpp"
#include "tests/gpu/executors/shuffled.hpp"
#include "tests/gpu/executors/threaded.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {

std::unique_ptr<engine> shuffled_engine(const engine_limits& limits,
                                        const selection_program* program) {
  return make_engine_on(
      "shuffled", limits, [] { return shuffled_queue(32, 1); }, nullptr, program);
}

std::unique_ptr<engine> threaded_engine(const engine_limits& limits,
                                        const selection_program* program) {
  // A width that divides no kernel's loop: otherwise a lane might read what it wrote itself, and a
  // missing sync() would stay hidden.
  return make_engine_on(
      "threaded", limits, [] { return threaded_queue(3); }, nullptr, program);
}

std::unique_ptr<engine> streamed_engine(const engine_limits& limits,
                                        const selection_program* program) {
  return make_engine_on(
      "stream", limits, [] { return stream_queue<serial_queue>(serial_queue()); }, nullptr,
      program);
}

} // namespace l3::test
