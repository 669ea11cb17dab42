// SPDX-License-Identifier: Apache-2.0
// The serial executor: one thread runs blocks and lanes in order. It is the reference that every
// other executor must equal bit for bit.
#pragma once

#include <cstdint>

#include "gpu/executors/solo.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3 {

/// A block of any width, whose lanes one thread runs in turn.
class serial_block {
public:
  serial_block(std::uint32_t index, std::uint32_t width) : index_(index), width_(width) {}

  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] std::uint32_t threads() const { return width_; }
  [[nodiscard]] std::uint32_t lane() const { return 0; }
  void sync() const {}

  template <class F>
  void for_each(std::uint32_t n, F&& f) const {
    for (std::uint32_t lane = 0; lane < width_; ++lane) {
      for (std::uint32_t i = lane; i < n; i += width_) f(i);
    }
  }

private:
  std::uint32_t index_;
  std::uint32_t width_;
};

class serial_queue {
public:
  using memory = host_memory;

  explicit serial_queue(std::uint32_t width = 1) : width_(width) {}

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    if (width_ == 1) return run_solo<Kernel, Args...>(kernel, 0, blocks, args...);
    for (std::uint32_t i = 0; i < blocks; ++i) {
      typename Kernel::shared shared;
      kernel(serial_block(i, width_), shared, args...);
    }
  }

private:
  std::uint32_t width_;
};

} // namespace l3
