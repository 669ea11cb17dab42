// SPDX-License-Identifier: Apache-2.0
#include "bench/selection/select_stand.hpp"
#include "gpu/executors/pool.hpp"
#include "gpu/executors/serial.hpp"

namespace l3::bench {
namespace {

serial_queue make_serial_queue() { return serial_queue(); }

} // namespace

select_expected expect_selection(const select_batch& batch, const selection_program& program) {
  return select_stand<serial_queue>(make_serial_queue, batch, program).record();
}

select_runner make_serial_select_runner(const select_batch& batch, const selection_program& program,
                                        const select_expected& expected) {
  return make_select_runner("one core", 1, make_serial_queue, batch, program, expected);
}

select_runner make_pool_select_runner(std::uint32_t threads, const select_batch& batch,
                                      const selection_program& program,
                                      const select_expected& expected) {
  const auto pool = std::make_shared<thread_pool>(threads);
  const std::uint32_t n = pool->threads();
  select_runner r = make_select_runner(
      "pool (" + std::to_string(n) + " threads)", n, [&] { return pool_queue(*pool); }, batch,
      program, expected);
  r.run = [pool, run = std::move(r.run)](std::size_t part, std::uint32_t passes) {
    run(part, passes);
  };
  return r;
}

} // namespace l3::bench
