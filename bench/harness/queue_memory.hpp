// SPDX-License-Identifier: Apache-2.0
// The memory of a queue's kernels for a bench. Placing inputs and reading outputs are never timed,
// so these are complete, synchronous copies, or no copies if kernels run on host memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/held_batch.hpp"
#include "bench/harness/measure.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3::bench {

template <class Queue>
class queue_memory {
public:
  explicit queue_memory(Queue queue) : queue_(std::move(queue)) {}

  [[nodiscard]] Queue& queue() { return queue_; }

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
  /// Kept until this object is destroyed.
  template <class T>
  [[nodiscard]] column<const T> place(column<const T> from) {
    tables_.push_back(place(std::as_bytes(std::span(from.data(), from.size()))));
    return {reinterpret_cast<const T*>(tables_.back().data()), from.size()};
  }
  /// The tables of a batch whose bytes were placed at `input`; kept likewise.
  [[nodiscard]] batch_view place(const buffer& input, const batch_view& host) {
    const auto homes = place(column<const board_home>(host.homes));
    return {input.data(),          place(host.events),
            place(host.fragments), place(host.pieces),
            place(host.boards),    {const_cast<board_home*>(homes.data()), homes.size()}};
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
      constexpr std::size_t most = 64 << 20; // pinned memory is slow to get
      reach(std::min(b.size(), most));
      std::memset(host_.data(), poison_byte, std::min(b.size(), most));
      for (std::size_t at = 0; at < b.size(); at += most)
        queue_.copy_in(b.data() + at, host_.data(), std::min(most, b.size() - at));
      finish();
    } else {
      std::memset(b.data(), poison_byte, b.size());
    }
  }
  /// Valid until the next call; on host memory the kernels' own memory.
  [[nodiscard]] std::span<std::byte> read(void* from, std::size_t n) {
    if constexpr (has_device) {
      reach(n);
      queue_.copy_out(host_.data(), from, n);
      finish();
      return {host_.data(), n};
    } else {
      return {static_cast<std::byte*>(from), n};
    }
  }
  [[nodiscard]] bool begins_with(const buffer& b, std::span<const std::byte> expected) {
    return std::memcmp(read(b.data(), expected.size()).data(), expected.data(), expected.size()) ==
           0;
  }

  /// Enqueues the copy, or copies directly.
  void copy_within(const buffer& to, const buffer& from, std::size_t n) {
    if constexpr (has_device) {
      queue_.copy_within(to.data(), from.data(), n);
    } else {
      std::memcpy(to.data(), from.data(), n);
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

  /// Makes room in the host memory from which a device copies fastest.
  void reach(std::size_t n) {
    if (host_.size() < n) host_ = Queue::memory::allocate(n);
  }

  Queue queue_;
  buffer host_;
  std::vector<buffer> tables_;
};

} // namespace l3::bench
