// SPDX-License-Identifier: Apache-2.0
// Tools for threads that the standard library lacks: a descriptor with which one wakes another, the
// name under which the system shows one, and a mutex for very short sections.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// A descriptor for poll() that any thread can make readable.
class wake_event {
public:
  wake_event() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  [[nodiscard]] int descriptor() const { return event_.get(); }
  void wake() const {
    const std::uint64_t one = 1;
    // It fails only if the counter is full, and then the descriptor is readable anyway.
    [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
  }

private:
  file_descriptor event_;
};

// Sets the name of a thread for `top -H` and debuggers: the name in docs/architecture.md. A thread
// calls it first.

/// At most 15 characters, the kernel's limit.
inline void name_this_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

/// A mutex for sections of some microseconds. A waiting thread checks it for about that long before
/// it sleeps, because sleeping and waking costs more than most waits. It only reads while it
/// checks, so that the cache line stays with the owner. Not recursive.
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
