// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/sequence_cases.hpp"

#include "gpu/queues/pool.hpp"
#include "gpu/queues/serial.hpp"
#include "gpu/queues/shuffled.hpp"
#include "gpu/queues/threaded.hpp"
#include "selection/basic_engine.hpp"
#include "tests/selection/stream_queue.hpp"

namespace l3::test {
namespace {

template <class MakeQueue>
tested_engine on(std::string name, MakeQueue make_queue, bool slow = false) {
  using queue = decltype(make_queue());
  tested_engine e;
  e.name = name;
  e.keeping_all = [=](const engine_limits& l) -> std::unique_ptr<engine> {
    return std::make_unique<basic_engine<queue>>(name, l, make_queue);
  };
  e.keeping_odd = [=](const engine_limits& l) -> std::unique_ptr<engine> {
    return std::make_unique<basic_engine<queue, keep_odd_numbers>>(name, l, make_queue);
  };
  e.slow = slow;
  return e;
}

/// On an imagined device, whose streams run kernels with that executor.
template <class MakeQueue>
tested_engine on_streams(const std::string& name, MakeQueue make_queue, output_path path,
                         bool slow = false) {
  tested_engine e = on(
      name, [=] { return stream_queue(make_queue()); }, slow);
  e.leave_by(path);
  return e;
}

tested_engine on_pool(std::uint32_t threads) {
  const auto pool = std::make_shared<thread_pool>(threads);
  return on("pool_" + std::to_string(threads), [pool] { return pool_queue(*pool); });
}

INSTANTIATE_TEST_SUITE_P(cpu, sequence,
                         testing::Values(on("serial_1", [] { return serial_queue(1); }),
                                         on("serial_32", [] { return serial_queue(32); }),
                                         on("serial_256", [] { return serial_queue(256); }),
                                         on("shuffled_1", [] { return shuffled_queue(1, 1); }),
                                         on("shuffled_32", [] { return shuffled_queue(32, 2); }),
                                         on("shuffled_256", [] { return shuffled_queue(256, 3); }),
                                         on(
                                             "threaded_1", [] { return threaded_queue(1); }, true),
                                         on(
                                             "threaded_4", [] { return threaded_queue(4); }, true),
                                         on(
                                             "threaded_8", [] { return threaded_queue(8); }, true),
                                         on_pool(1), on_pool(2), on_pool(5)),
                         [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    streams, sequence,
    testing::Values(
        on_streams(
            "mapped_serial_256", [] { return serial_queue(256); }, output_path::mapped),
        on_streams(
            "copied_serial_256", [] { return serial_queue(256); }, output_path::copied),
        on_streams(
            "mapped_shuffled_32", [] { return shuffled_queue(32, 4); }, output_path::mapped),
        on_streams(
            "mapped_threaded_4", [] { return threaded_queue(4); }, output_path::mapped, true)),
    [](const auto& tested) { return tested.param.name; });

} // namespace
} // namespace l3::test
