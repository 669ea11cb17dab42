// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/engine/engine_bytes_cases.hpp"

#include "gpu/executors/pool.hpp"
#include "gpu/executors/serial.hpp"
#include "selection/engine/engine_on.hpp"
#include "tests/gpu/executors/shuffled.hpp"
#include "tests/gpu/executors/threaded.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

template <class MakeQueue>
tested_engine on(std::string name, MakeQueue make_queue, bool slow = false) {
  using queue = decltype(make_queue());
  tested_engine e;
  e.name = name;
  e.keeping_all = [=](const engine_limits& l) {
    return make_keeping_engine_on(name, l, make_queue);
  };
  e.keeping_odd = [=](const engine_limits& l) -> std::unique_ptr<engine> {
    return std::make_unique<basic_engine<queue, packing_plan<keep_odd_numbers>>>(name, l,
                                                                                 make_queue);
  };
  e.slow = slow;
  return e;
}

tested_engine on_serial(std::uint32_t width) {
  return on("serial_" + std::to_string(width), [=] { return serial_queue(width); });
}
tested_engine on_shuffled(std::uint32_t width, std::uint64_t seed) {
  return on("shuffled_" + std::to_string(width), [=] { return shuffled_queue(width, seed); });
}
/// At a width that divides 16, the lanes of a packet, ThreadSanitizer misses some forgotten sync(),
/// because a lane then reads what it wrote itself. At width 3 it reports all of them.
tested_engine on_threaded(std::uint32_t width) {
  return on(
      "threaded_" + std::to_string(width), [=] { return threaded_queue(width); }, true);
}
tested_engine on_pool(std::uint32_t threads) {
  const auto pool = std::make_shared<thread_pool>(threads);
  return on("pool_" + std::to_string(threads), [pool] { return pool_queue(*pool); });
}

std::vector<tested_engine> on_cpu() {
  return {on_serial(1),       on_serial(32),       on_serial(256), on_shuffled(1, 1),
          on_shuffled(32, 2), on_shuffled(256, 3), on_threaded(1), on_threaded(4),
          on_threaded(3),     on_pool(1),          on_pool(2),     on_pool(5)};
}

/// An engine on an imagined device, whose streams run kernels on that executor.
template <class MakeQueue>
tested_engine on_streams(const std::string& name, MakeQueue make_queue, bool slow = false) {
  return on(
      name, [=] { return stream_queue(make_queue()); }, slow);
}

std::vector<tested_engine> on_imagined_device() {
  const auto serial = on_streams("serial_256", [] { return serial_queue(256); });
  const auto shuffled = on_streams("shuffled_32", [] { return shuffled_queue(32, 4); });
  const auto threaded = on_streams(
      "threaded_3", [] { return threaded_queue(3); }, true);
  return {serial, shuffled, threaded};
}

const auto name_of = [](const auto& tested) { return tested.param.name; };

INSTANTIATE_TEST_SUITE_P(cpu, engine_bytes, testing::ValuesIn(on_cpu()), name_of);
INSTANTIATE_TEST_SUITE_P(cpu_strong, engine_bytes, testing::ValuesIn(by_strong_codec(on_cpu())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(cpu_strong, engine_decision, testing::ValuesIn(by_strong_codec(on_cpu())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(streams_strong, engine_bytes,
                         testing::ValuesIn(by_strong_codec(on_imagined_device())), name_of);
INSTANTIATE_TEST_SUITE_P(streams, engine_bytes, testing::ValuesIn(on_imagined_device()), name_of);
INSTANTIATE_TEST_SUITE_P(cpu, engine_decision, testing::ValuesIn(on_cpu()), name_of);
INSTANTIATE_TEST_SUITE_P(streams, engine_decision, testing::ValuesIn(on_imagined_device()),
                         name_of);

} // namespace
} // namespace l3::test
