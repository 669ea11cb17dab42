// SPDX-License-Identifier: Apache-2.0
// That the bench of copies makes every copy that it counts, and finds those that go wrong: on an
// imagined device, and on one that loses a byte.
#include "bench/device/copies.hpp"

#include <gtest/gtest.h>

#include "gpu/executors/serial.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

using imagined = stream_queue<serial_queue>;

constexpr std::size_t size = 48 * 1024;

TEST(copies, arrive) {
  const auto rows = bench::copies<imagined>([] { return imagined(serial_queue(32)); }, size).run(2);
  ASSERT_EQ(rows.size(), 7U);
  for (const bench::copy_row& r : rows) {
    EXPECT_TRUE(r.time.right) << r.name;
    EXPECT_EQ(r.time.seconds.size(), 2U) << r.name;
    EXPECT_EQ(r.bytes % size, 0U) << r.name;
    EXPECT_GT(r.bytes, 0U) << r.name;
  }
}

/// A copy that way loses its last byte; but not the copy of the sizes, by which kernels
/// write.
struct losses {
  bool in = false;
  bool out = false;
  bool within = false;
  bool kernels = false;
};

struct lossy_queue : imagined {
  static constexpr std::size_t largest_of_sizes = 1024;

  explicit lossy_queue(losses l) : imagined(serial_queue()), lost(l) {}

  void copy_in(void* device, const void* host, std::size_t n) {
    imagined::copy_in(device, host, n - (lost.in && n > largest_of_sizes));
  }
  void copy_out(void* host, const void* device, std::size_t n) {
    imagined::copy_out(host, device, n - lost.out);
  }
  void copy_within(void* to, const void* from, std::size_t n) {
    imagined::copy_within(to, from, n - lost.within);
  }
  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    imagined::run(kernel, lost.kernels ? blocks - 1 : blocks, args...);
  }

  losses lost;
};

std::vector<std::string> wrong_with(losses l) {
  std::vector<std::string> names;
  const auto make = [=] { return lossy_queue(l); };
  for (const auto& r : bench::copies<lossy_queue>(make, deliver_output::blocks * size).run(1)) {
    if (!r.time.right) names.push_back(r.name);
  }
  return names;
}

TEST(copies, are_found_out_if_they_lose_a_byte) {
  EXPECT_EQ(wrong_with({}), std::vector<std::string>());
  EXPECT_EQ(wrong_with({.within = true}),
            std::vector<std::string>{"within the device, read and written"});
  EXPECT_EQ(wrong_with({.kernels = true}),
            (std::vector<std::string>{"kernel to mapped host memory",
                                      "host to device, a third leaves mapped"}));
  EXPECT_EQ(wrong_with({.in = true}).size(), 7U) << "what is copied came in, too";
  EXPECT_EQ(wrong_with({.out = true}).size(), 6U) << "all but the kernel's alone";
}

} // namespace
} // namespace l3::test
