// SPDX-License-Identifier: Apache-2.0
// Memory that the kernels of a queue can reach, with copies to and from it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include "gpu/memory/buffer.hpp"

namespace l3::test {

template <class Queue>
class lent_memory {
public:
  lent_memory(Queue& queue, std::size_t bytes)
      : queue_(queue), bytes_(allocate(std::max<std::size_t>(bytes, 1))) {}

  [[nodiscard]] const buffer& bytes() const { return bytes_; }
  void write(const void* from, std::size_t n) {
    if constexpr (Queue::memory::has_device) {
      queue_.copy_in(bytes_.data(), from, n);
      EXPECT_EQ(queue_.finish(), "");
    } else {
      if (n != 0) std::memcpy(bytes_.data(), from, n);
    }
  }
  void read(void* to) const {
    if constexpr (Queue::memory::has_device) {
      queue_.copy_out(to, bytes_.data(), bytes_.size());
      EXPECT_EQ(queue_.finish(), "");
    } else {
      std::memcpy(to, bytes_.data(), bytes_.size());
    }
  }

private:
  static buffer allocate(std::size_t n) {
    if constexpr (Queue::memory::has_device) {
      return Queue::memory::allocate_on_device(n);
    } else {
      return Queue::memory::allocate(n);
    }
  }
  Queue& queue_;
  buffer bytes_;
};

} // namespace l3::test
