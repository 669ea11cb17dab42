// SPDX-License-Identifier: Apache-2.0
// That the limit of the engine's bench is of copies that arrived: on an imagined device, and on one
// that loses a byte of some.
#include "bench/pipeline/arrivals.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "gpu/executors/serial.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

using imagined = stream_queue<serial_queue>;

constexpr std::size_t size = 1000;

/// Copies nothing, once it has been told so, of one byte in the middle.
struct lossy_queue : imagined {
  explicit lossy_queue(std::shared_ptr<bool> loses)
      : imagined(serial_queue()), lost(std::move(loses)) {}

  void copy_in(void* device, const void* host, std::size_t n) {
    const std::size_t first = *lost ? n / 2 : n;
    imagined::copy_in(device, host, first);
    if (first < n)
      imagined::copy_in(static_cast<char*>(device) + first + 1,
                        static_cast<const char*>(host) + first + 1, n - first - 1);
  }

  std::shared_ptr<bool> lost;
};

struct three_buffers {
  three_buffers() {
    for (std::size_t i = 0; i < 3; ++i) {
      memory.emplace_back(size + i, static_cast<std::byte>(i + 1));
      spans.emplace_back(memory.back());
    }
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::span<const std::byte>> spans;
};

TEST(arrivals, are_right_when_all_have_arrived_and_wrong_before) {
  const three_buffers from;
  bench::arrivals<imagined> a([] { return imagined(serial_queue()); }, from.spans);
  a.poison();
  EXPECT_FALSE(a.is_right());
  a.run(2);
  EXPECT_FALSE(a.is_right()) << "the third was not copied";
  a.run(7);
  EXPECT_TRUE(a.is_right());
  a.poison();
  EXPECT_FALSE(a.is_right());
}

TEST(arrivals, are_right_on_a_cpu_likewise) {
  const three_buffers from;
  const bench::entrant two = bench::memcpy_arrivals(from.spans, 2);
  two.poison();
  EXPECT_FALSE(two.is_right());
  two.run();
  EXPECT_FALSE(two.is_right()) << "the third was not copied";
  const bench::entrant three = bench::memcpy_arrivals(from.spans, 3);
  three.run();
  EXPECT_TRUE(three.is_right());
}

TEST(arrivals, that_lost_a_byte_are_found_out) {
  const three_buffers from;
  std::vector<std::shared_ptr<bool>> lost;
  bench::arrivals<lossy_queue> a(
      [&] { return lossy_queue(lost.emplace_back(std::make_shared<bool>(false))); }, from.spans);
  a.poison();
  a.run(3);
  EXPECT_TRUE(a.is_right());
  a.poison();
  *lost[2] = true;
  a.run(3);
  EXPECT_FALSE(a.is_right());
}

} // namespace
} // namespace l3::test
