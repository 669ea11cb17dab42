// SPDX-License-Identifier: Apache-2.0
// The limit of an engine on a device: the same buffers copied there, as many at a time as the
// engine has frames, and nothing computed. For any queue, as copies.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/memory.hpp"

namespace l3::bench {

template <class Queue>
class arrivals {
public:
  /// `from` is memory that the queue's device can read.
  template <class MakeQueue>
  arrivals(MakeQueue&& make_queue, std::span<const std::span<const std::byte>> from) {
    for (const auto& bytes : from)
      lanes_.push_back({Queue::memory::allocate_on_device(bytes.size()), make_queue(), bytes});
  }

  /// Copies `n` buffers, in turn, and returns when all have arrived.
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

private:
  struct lane {
    buffer to;
    Queue queue; // goes first: then nothing is copied any more
    std::span<const std::byte> from;
  };

  static void finish(lane& l) {
    if (const std::string error = l.queue.finish(); !error.empty()) throw std::runtime_error(error);
  }

  std::vector<lane> lanes_;
};

/// run() of arrivals on the CUDA device. Only if there is one.
[[nodiscard]] std::function<void(std::uint32_t)>
cuda_arrivals(std::span<const std::span<const std::byte>> from);

} // namespace l3::bench
