// SPDX-License-Identifier: Apache-2.0
// The limit of an engine: the same buffers copied to its memory without computing, as many at a
// time as it has frames. The arrived bytes are compared, like every output of a bench. On a CPU one
// core copies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/measure.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3::bench {

template <class Queue>
class arrivals {
public:
  /// `from` is memory that the queue's device can read.
  explicit arrivals(std::span<const std::span<const std::byte>> from) {
    for (const auto& bytes : from)
      lanes_.push_back({Queue::memory::allocate_on_device(bytes.size()), Queue(), bytes});
    std::size_t largest = 0;
    for (const lane& l : lanes_) largest = std::max(largest, l.to.size());
    back_ = Queue::memory::allocate(largest);
  }

  /// Invalidates everything that arrived.
  void poison() {
    std::memset(back_.data(), poison_byte, back_.size());
    for (lane& l : lanes_) {
      l.queue.copy_in(l.to.data(), back_.data(), l.to.size());
      l.queue.submit();
      finish(l);
    }
  }

  /// Copies `n` buffers in turn, and returns when all have arrived.
  void run(std::uint32_t n) {
    const auto lanes = static_cast<std::uint32_t>(lanes_.size());
    for (std::uint32_t i = 0; i < n; ++i) {
      lane& l = lanes_[i % lanes];
      if (i >= lanes) finish(l);
      l.queue.copy_in(l.to.data(), l.from.data(), l.from.size());
      l.queue.submit();
    }
    for (std::uint32_t i = 0; i < lanes && i < n; ++i) finish(lanes_[i]);
  }

  /// Whether each buffer has the same bytes on the device.
  [[nodiscard]] bool is_right() {
    return std::ranges::all_of(lanes_, [&](lane& l) {
      l.queue.copy_out(back_.data(), l.to.data(), l.to.size());
      l.queue.submit();
      finish(l);
      return std::memcmp(back_.data(), l.from.data(), l.from.size()) == 0;
    });
  }

private:
  struct lane {
    buffer to;
    Queue queue; // destroyed first, after which no copy is pending
    std::span<const std::byte> from;
  };

  static void finish(lane& l) {
    if (const std::string error = l.queue.finish(); !error.empty()) throw std::runtime_error(error);
  }

  buffer back_; // on the host
  std::vector<lane> lanes_;
};

/// Without a device: memcpy at the call.
struct memcpy_queue {
  struct memory : host_memory {
    [[nodiscard]] static buffer allocate_on_device(std::size_t n) { return allocate(n); }
  };

  static void copy_in(void* to, const void* from, std::size_t n) { std::memcpy(to, from, n); }
  static void copy_out(void* to, const void* from, std::size_t n) { std::memcpy(to, from, n); }
  static void submit() {}
  static std::string finish() { return {}; }
};

/// Copies `n` buffers per run. The memory outlives the entrant.
template <class Queue>
[[nodiscard]] entrant arrivals_entrant(std::string name,
                                       std::span<const std::span<const std::byte>> from,
                                       std::uint32_t n) {
  const auto by = std::make_shared<arrivals<Queue>>(from);
  return {std::move(name), [by] { by->poison(); }, [by, n] { by->run(n); },
          [by] { return by->is_right(); }};
}

[[nodiscard]] inline entrant memcpy_arrivals(std::span<const std::span<const std::byte>> from,
                                             std::uint32_t n) {
  return arrivals_entrant<memcpy_queue>("memcpy of the same buffers, one core", from, n);
}

/// On the CUDA device.
[[nodiscard]] entrant cuda_arrivals(std::span<const std::span<const std::byte>> from,
                                    std::uint32_t n);

} // namespace l3::bench
