// SPDX-License-Identifier: Apache-2.0
// A mutex for sections of some microseconds. A waiting thread checks it for about that long before
// it sleeps, because sleeping and waking costs more than most waits. It only reads while it checks,
// so that the cache line stays with the owner. Not recursive.
#pragma once

#include <atomic>
#include <cstdint>

namespace l3 {

class spinning_mutex {
public:
  void lock() {
    constexpr int looks = 400; // about 10 µs
    for (int i = 0; i < looks; ++i) {
      if (state_.load(std::memory_order_relaxed) == free && try_lock()) return;
      pause();
    }
    while (state_.exchange(awaited, std::memory_order_acquire) != free)
      state_.wait(awaited, std::memory_order_relaxed);
  }
  [[nodiscard]] bool try_lock() {
    std::uint32_t expected = free;
    return state_.compare_exchange_strong(expected, locked, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock() {
    if (state_.exchange(free, std::memory_order_release) == awaited) state_.notify_one();
  }

private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t locked = 1;
  static constexpr std::uint32_t awaited = 2; ///< locked, and a thread sleeps or is about to

  /// Yields the core's resources to its other hardware thread for a moment.
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<std::uint32_t> state_ = free;
};

} // namespace l3
