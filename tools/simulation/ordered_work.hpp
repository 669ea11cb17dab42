// SPDX-License-Identifier: Apache-2.0
// Several threads make work items, and one takes them in order. A ring of slots limits how far the
// makers run ahead.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace l3 {

/// Calls make(thread, i, slot) for i = 0 … n − 1 on `threads` threads, and take(i, slot) in rising
/// order on the caller's. `slots` are reused in turn; each belongs to one side at a time. An
/// exception of `take` ends the work and is rethrown to the caller; `make` must not throw.
template <class Slot, class Make, class Take>
void work_in_order(std::size_t n, std::vector<Slot>& slots, unsigned threads, const Make& make,
                   const Take& take) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<char> ready(slots.size(), 0);
  std::size_t started = 0;
  std::size_t taken = 0;
  bool stop = false;

  const auto worker = [&](unsigned thread) {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || started == n || started < taken + slots.size(); });
      if (stop || started == n) return;
      const std::size_t i = started++;
      lock.unlock();
      make(thread, i, slots[i % slots.size()]);
      lock.lock();
      ready[i % slots.size()] = 1;
      changed.notify_all();
    }
  };

  std::vector<std::jthread> workers;
  workers.reserve(threads);
  for (unsigned t = 0; t < threads; ++t) workers.emplace_back(worker, t);

  std::unique_lock lock(mutex);
  try {
    for (std::size_t i = 0; i < n; ++i) {
      changed.wait(lock, [&] { return ready[i % slots.size()] != 0; });
      lock.unlock();
      take(i, slots[i % slots.size()]);
      lock.lock();
      ready[i % slots.size()] = 0;
      ++taken;
      changed.notify_all();
    }
  } catch (...) {
    lock.lock();
    stop = true;
    lock.unlock();
    changed.notify_all();
    throw; // the workers are joined during unwinding
  }
  lock.unlock();
}

} // namespace l3
