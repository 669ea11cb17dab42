// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/pool.hpp"
#include "selection/engine/engine_on.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

namespace {

std::unique_ptr<engine> make_engine_on_pool(std::string_view name,
                                            const std::shared_ptr<thread_pool>& pool,
                                            const engine_limits& limits,
                                            const selection_program* program) {
  return make_engine_on(
      name, limits, [&] { return pool_queue(*pool); }, pool, program);
}

} // namespace

std::unique_ptr<engine> make_serial_engine(const engine_limits& limits,
                                           const selection_program* program) {
  return make_engine_on_pool("serial", std::make_shared<thread_pool>(1), limits, program);
}

std::unique_ptr<engine> make_pool_engine(std::uint32_t threads, const engine_limits& limits,
                                         const selection_program* program) {
  const auto pool = std::make_shared<thread_pool>(threads);
  const std::string n = std::to_string(pool->threads());
  return make_engine_on_pool("pool (" + n + (n == "1" ? " thread)" : " threads)"), pool, limits,
                             program);
}

std::vector<memory_use> memory_of_cpu_engine(const engine_limits& limits,
                                             const selection_program* program) {
  if (program != nullptr) {
    using plan = selecting_plan<pool_queue>;
    thread_pool one(1);
    return basic_engine<pool_queue, plan>::plan_memory(
        limits, plan(*program, limits.batch, pool_queue(one)));
  }
  return basic_engine<pool_queue, packing_plan<keep_all>>::plan_memory(limits, {});
}

} // namespace l3
