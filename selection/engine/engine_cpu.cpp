// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/pool.hpp"
#include "gpu/executors/serial.hpp"
#include "gpu/executors/shuffled.hpp"
#include "gpu/executors/threaded.hpp"
#include "selection/engine/engine_on.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

namespace {

// The testing executors run narrow blocks, because wide ones would take too long. The width of the
// threaded one divides no kernel's loop: else a lane might read what it wrote itself, and a missing
// sync() would stay hidden.
constexpr std::uint32_t shuffled_width = 32;
constexpr std::uint64_t shuffled_seed = 1;
constexpr std::uint32_t threaded_width = 3;

std::unique_ptr<engine> make_pool_engine(std::uint32_t threads, const engine_limits& limits,
                                         const selection_program* program) {
  const auto pool = std::make_shared<thread_pool>(threads);
  const std::string n = std::to_string(pool->threads());
  return make_engine_on(
      "pool (" + n + (n == "1" ? " thread)" : " threads)"), limits,
      [&] { return pool_queue(*pool); }, pool, program);
}

} // namespace

std::unique_ptr<engine> make_cpu_engine(const compute_settings& settings,
                                        const engine_limits& limits,
                                        const selection_program* program) {
  switch (settings.where) {
  case backend::serial:
    return make_engine_on(
        "serial", limits, [] { return serial_queue(); }, nullptr, program);
  case backend::shuffled:
    return make_engine_on(
        "shuffled", limits, [] { return shuffled_queue(shuffled_width, shuffled_seed); }, nullptr,
        program);
  case backend::threaded:
    return make_engine_on(
        "threaded (" + std::to_string(threaded_width) + " lanes)", limits,
        [] { return threaded_queue(threaded_width); }, nullptr, program);
  default: return make_pool_engine(settings.threads, limits, program);
  }
}

} // namespace l3
