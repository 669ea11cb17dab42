// SPDX-License-Identifier: Apache-2.0
// How long a receive thread sleeps after a sweep over its ports, so that datagrams gather and one
// call reads several. To avoid an overflow, it sleeps no longer than the fullest socket needs to
// fill part of its buffer at the rate of the last sweep, and no longer than a fast link needs to
// fill it from empty. It does not sleep after a full burst, because more was waiting.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "transport/format/time.hpp"
#include "transport/format/units.hpp"

namespace l3 {

class receive_nap {
public:
  /// The longest addition of a nap to the latency of an event, besides the age of a batch.
  static constexpr std::chrono::nanoseconds longest = std::chrono::microseconds(500);
  /// Shorter naps cost more than they save.
  static constexpr std::chrono::nanoseconds shortest = std::chrono::microseconds(40);
  /// Most bytes of a datagram's overhead in a socket.
  static constexpr std::uint64_t bytes_beside = 1024;

  /// `buffer`: the smallest receive buffer of the sockets.
  explicit receive_nap(byte_size buffer)
      : buffer_(buffer.bytes),
        longest_(std::min(longest, time_to_fill(buffer.bytes / 2, link_bytes_per_second))) {}

  void begin_sweep(time_point now) {
    since_ = began_;
    began_ = now;
    most_ = 0;
    left_behind_ = false;
  }
  /// Notes what was read from one port in this sweep; `full` if more may be waiting there.
  void took(std::uint64_t datagrams, std::uint64_t bytes, bool full) {
    most_ = std::max(most_, bytes + datagrams * bytes_beside);
    left_behind_ = left_behind_ || full;
  }
  /// How long to sleep now; 0 means not at all.
  [[nodiscard]] std::chrono::nanoseconds after_sweep() const {
    if (left_behind_ || most_ == 0) return {};
    const auto gathered_in = static_cast<double>((began_ - since_).count());
    const double sweeps = static_cast<double>(buffer_) / 4 / static_cast<double>(most_);
    const auto safe =
        std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(gathered_in * sweeps, 1e9)));
    const auto nap = std::min(longest_, safe);
    return nap < shortest ? std::chrono::nanoseconds(0) : nap;
  }

private:
  /// A full 10-gigabit link to one port.
  static constexpr std::uint64_t link_bytes_per_second = 1'250'000'000;

  static constexpr std::chrono::nanoseconds time_to_fill(std::uint64_t bytes, std::uint64_t rate) {
    constexpr std::uint64_t nano = 1'000'000'000;
    return std::chrono::nanoseconds(std::min(bytes, std::uint64_t{1} << 32) * nano / rate);
  }

  std::uint64_t buffer_;
  std::chrono::nanoseconds longest_;
  time_point since_{};
  time_point began_{};
  std::uint64_t most_ = 0; // in the fullest socket
  bool left_behind_ = false;
};

} // namespace l3
