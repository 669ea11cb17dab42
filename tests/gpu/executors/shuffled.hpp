// SPDX-License-Identifier: Apache-2.0
// The shuffled executor: one thread runs the blocks, and the items of every for_each, in random
// order, and starts each block with poisoned shared memory. A kernel that depends on an order, or
// reads shared memory that it did not write, gives other bytes here than on the serial executor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "gpu/executors/block.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3 {

class shuffled_block {
public:
  shuffled_block(std::uint32_t index, std::uint32_t width, std::mt19937_64& random)
      : index_(index), width_(width), random_(&random) {}

  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] std::uint32_t threads() const { return width_; }
  [[nodiscard]] std::uint32_t lane() const { return 0; }
  void sync() const {}

  template <class F>
  void for_each(std::uint32_t n, F&& f) const {
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), *random_);
    for (const std::uint32_t i : order) f(i);
  }

private:
  std::uint32_t index_;
  std::uint32_t width_;
  std::mt19937_64* random_;
};

class shuffled_queue {
public:
  using memory = host_memory;

  shuffled_queue(std::uint32_t width, std::uint64_t seed) : width_(width), random_(seed) {}

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    shuffled_block(0, width_, random_).for_each(blocks, [&](std::uint32_t i) {
      typename Kernel::shared shared;
      std::memset(static_cast<void*>(&shared), 0xa5, sizeof shared);
      kernel(shuffled_block(i, width_, random_), shared, args...);
    });
  }

private:
  std::uint32_t width_;
  std::mt19937_64 random_;
};

} // namespace l3
