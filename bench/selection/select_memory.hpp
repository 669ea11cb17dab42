// SPDX-License-Identifier: Apache-2.0
// The memory that a queue's kernels compute in, as a bench uses it: what is laid there before and
// read from there after is never timed, so these are whole, waited-for copies, or none at all where
// kernels run on host memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/device/host_reference.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3::bench {

template <class Queue>
class select_memory {
public:
  /// The queue outlives it.
  explicit select_memory(Queue& queue) : queue_(queue) {}

  [[nodiscard]] static buffer allocate(std::size_t bytes) {
    if constexpr (has_device) {
      return Queue::memory::allocate_on_device(bytes);
    } else {
      return Queue::memory::allocate(bytes);
    }
  }

  [[nodiscard]] buffer place(std::span<const std::byte> bytes) {
    buffer b = allocate(std::max<std::size_t>(bytes.size(), 1));
    if (!bytes.empty()) write(b, bytes);
    return b;
  }
  /// Kept until this goes.
  template <class T>
  [[nodiscard]] column<const T> place(column<const T> from) {
    tables_.push_back(place(std::as_bytes(std::span(from.data(), from.size()))));
    return {reinterpret_cast<const T*>(tables_.back().data()), from.size()};
  }

  void write(const buffer& to, std::span<const std::byte> bytes) {
    if constexpr (has_device) {
      queue_.copy_in(to.data(), bytes.data(), bytes.size());
      finish();
    } else {
      std::memcpy(to.data(), bytes.data(), bytes.size());
    }
  }
  void poison(const buffer& b) {
    if constexpr (has_device) {
      write(b, std::vector(b.size(), static_cast<std::byte>(poison_byte)));
    } else {
      std::memset(b.data(), poison_byte, b.size());
    }
  }
  [[nodiscard]] std::vector<std::byte> read(const void* from, std::size_t n) {
    std::vector<std::byte> bytes(n);
    if constexpr (has_device) {
      queue_.copy_out(bytes.data(), from, n);
      finish();
    } else {
      std::memcpy(bytes.data(), from, n);
    }
    return bytes;
  }
  [[nodiscard]] bool begins_with(const buffer& b, std::span<const std::byte> expected) {
    if constexpr (has_device) {
      return std::ranges::equal(read(b.data(), expected.size()), expected);
    } else {
      return std::memcmp(b.data(), expected.data(), expected.size()) == 0;
    }
  }

  void finish() {
    if constexpr (has_device) {
      queue_.submit();
      if (const std::string error = queue_.finish(); !error.empty())
        throw std::runtime_error(error);
    }
  }

private:
  static constexpr bool has_device = Queue::memory::has_device;

  Queue& queue_;
  std::vector<buffer> tables_;
};

} // namespace l3::bench
