// SPDX-License-Identifier: Apache-2.0
#include "bench/selection/select_stand.hpp"
#include "gpu/executors/pool.hpp"

namespace l3::bench {

select_expected expect_selection(const select_batch& batch, const selection_program& program) {
  thread_pool one(1);
  return select_stand<pool_queue>([&] { return pool_queue(one); }, batch, program).record();
}

select_runner make_cpu_select_runner(std::uint32_t threads, const select_batch& batch,
                                     const selection_program& program,
                                     const select_expected& expected) {
  const auto pool = std::make_shared<thread_pool>(threads);
  const std::uint32_t n = pool->threads();
  select_runner r = make_select_runner(
      n == 1 ? "one core" : "pool (" + std::to_string(n) + " threads)", n,
      [&] { return pool_queue(*pool); }, batch, program, expected);
  r.in_use.push_back(pool);
  return r;
}

} // namespace l3::bench
