// SPDX-License-Identifier: Apache-2.0
// A mutex for sections of about a microsecond: a thread that finds it locked looks again for a few
// microseconds before it sleeps. To sleep and be woken costs more than most waits last.
#pragma once

#include <mutex>

namespace l3 {

class spinning_mutex {
public:
  void lock() {
    constexpr int looks = 100;
    for (int i = 0; i < looks; ++i) {
      if (mutex_.try_lock()) return;
      pause();
    }
    mutex_.lock();
  }
  [[nodiscard]] bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

private:
  /// Leaves the core's resources to its other hardware thread for a moment.
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::mutex mutex_;
};

} // namespace l3
