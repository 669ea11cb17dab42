// SPDX-License-Identifier: Apache-2.0
// The threaded executor: every lane of a block is a thread, and sync() is a barrier. It is far too
// slow for data taking and exists for ThreadSanitizer, which reports the source line where a kernel
// lacks a sync(). The serial executor hides a missing sync(); a device shows it only occasionally.
#pragma once

#include <barrier>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "gpu/executors/block.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3 {

class threaded_block {
public:
  threaded_block(std::uint32_t index, std::uint32_t width, std::uint32_t lane, std::barrier<>& all)
      : index_(index), width_(width), lane_(lane), all_(&all) {}

  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] std::uint32_t threads() const { return width_; }
  [[nodiscard]] std::uint32_t lane() const { return lane_; }
  void sync() const { all_->arrive_and_wait(); }

private:
  std::uint32_t index_;
  std::uint32_t width_;
  std::uint32_t lane_;
  std::barrier<>* all_;
};

class threaded_queue {
public:
  using memory = host_memory;

  explicit threaded_queue(std::uint32_t width) : width_(width) {}

  /// The threads live as long as the kernel and run one block after the other, each with poisoned
  /// shared memory.
  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    if (blocks == 0) return;
    using shared = typename Kernel::shared;
    const auto block_memory = std::make_unique<shared>();
    std::barrier<> all(static_cast<std::ptrdiff_t>(width_));
    std::vector<std::jthread> lanes;
    for (std::uint32_t lane = 0; lane < width_; ++lane) {
      lanes.emplace_back([&, lane] {
        for (std::uint32_t i = 0; i < blocks; ++i) {
          if (lane == 0) std::memset(static_cast<void*>(block_memory.get()), 0xa5, sizeof(shared));
          all.arrive_and_wait();
          kernel(threaded_block(i, width_, lane, all), *block_memory, args...);
          all.arrive_and_wait();
        }
      });
    }
  }

private:
  std::uint32_t width_;
};

} // namespace l3
