// SPDX-License-Identifier: Apache-2.0
// The part of CUDA that the .cuh files of gpu/ and selection/ use, implemented on the host with a
// thread for each lane, so that tests run the device forms on machines without a device. The lanes
// of a warp meet for each vote and each exchange. Such a test shows neither the speed of the code
// nor the work of a device compiler.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "gpu/executors/block.hpp"

// CUDA prescribes these names. The compiler's command line defines __device__ as nothing.
struct cuda_index {
  std::uint32_t x = 0;
};
inline thread_local cuda_index threadIdx; // NOLINT(readability-identifier-naming)
inline thread_local cuda_index blockDim;  // NOLINT(readability-identifier-naming)

namespace l3::test {

/// The common state of the lanes of one block.
struct cuda_lanes {
  static constexpr std::uint32_t warp = 32;
  explicit cuda_lanes(std::uint32_t width) : all(width), first_warp(warp) {}

  std::barrier<> all;
  std::barrier<> first_warp; // only this warp votes and exchanges
  std::uint64_t said[warp] = {};
};
inline thread_local cuda_lanes* lanes_here = nullptr;

/// Each lane of the first warp passes a value and gets f of the values of all lanes.
template <class F>
auto exchange(std::uint64_t value, F&& f) {
  lanes_here->said[threadIdx.x] = value;
  lanes_here->first_warp.arrive_and_wait();
  const auto result = f(lanes_here->said);
  lanes_here->first_warp.arrive_and_wait();
  return result;
}

} // namespace l3::test

inline std::uint32_t __ballot_sync(std::uint32_t, bool vote) {
  return l3::test::exchange(vote ? 1 : 0, [](const std::uint64_t* said) {
    std::uint32_t votes = 0;
    for (std::uint32_t k = 0; k < l3::test::cuda_lanes::warp; ++k)
      votes |= static_cast<std::uint32_t>(said[k]) << k;
    return votes;
  });
}
template <class T>
T __shfl_down_sync(std::uint32_t, T value, std::uint32_t distance) {
  return l3::test::exchange(static_cast<std::uint64_t>(value), [&](const std::uint64_t* said) {
    const std::uint32_t from = threadIdx.x + distance;
    return static_cast<T>(said[from < l3::test::cuda_lanes::warp ? from : threadIdx.x]);
  });
}
inline std::uint32_t atomicOr(std::uint32_t* at, std::uint32_t x) {
  return std::atomic_ref(*at).fetch_or(x, std::memory_order_relaxed);
}
inline std::uint32_t __ldg(const std::uint32_t* p) { return *p; }
inline std::uint32_t __funnelshift_l(std::uint32_t low, std::uint32_t high, std::uint32_t shift) {
  return static_cast<std::uint32_t>(((std::uint64_t{high} << 32 | low) << (shift % 32)) >> 32);
}
inline std::uint32_t __funnelshift_r(std::uint32_t low, std::uint32_t high, std::uint32_t shift) {
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> (shift % 32));
}
inline std::uint32_t __byte_perm(std::uint32_t x, std::uint32_t y, std::uint32_t selector) {
  const std::uint64_t both = std::uint64_t{y} << 32 | x;
  std::uint32_t result = 0;
  for (std::uint32_t k = 0; k < 4; ++k)
    result |= static_cast<std::uint32_t>(both >> (8 * (selector >> (4 * k) & 7)) & 0xff) << (8 * k);
  return result;
}

namespace l3 {

/// The type for which the device forms are overloads.
struct cuda_block {
  std::uint32_t number = 0;

  [[nodiscard]] std::uint32_t index() const { return number; }
  [[nodiscard]] std::uint32_t threads() const { return blockDim.x; }
  [[nodiscard]] std::uint32_t lane() const { return threadIdx.x; }
  void sync() const { test::lanes_here->all.arrive_and_wait(); }
};

namespace test {

/// Runs f(block, shared) for `blocks` blocks of `width` lanes, `at_once` blocks at a time.
template <class Shared, class F>
void run_as_on_a_device(std::uint32_t blocks, std::uint32_t width, std::uint32_t at_once, F&& f) {
  std::vector<std::unique_ptr<cuda_lanes>> lanes;
  std::vector<std::unique_ptr<Shared>> shared;
  std::vector<std::jthread> threads;
  for (std::uint32_t place = 0; place < at_once; ++place) {
    lanes.push_back(std::make_unique<cuda_lanes>(width));
    shared.push_back(std::make_unique<Shared>());
    for (std::uint32_t lane = 0; lane < width; ++lane) {
      threads.emplace_back([&, place, lane, here = lanes.back().get(), s = shared.back().get()] {
        lanes_here = here;
        threadIdx.x = lane;
        blockDim.x = width;
        for (std::uint32_t i = place; i < blocks; i += at_once) {
          f(cuda_block{i}, *s);
          here->all.arrive_and_wait();
        }
      });
    }
  }
}

} // namespace test
} // namespace l3
