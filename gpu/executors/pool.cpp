// SPDX-License-Identifier: Apache-2.0
#include "gpu/executors/pool.hpp"

#include <algorithm>

#include "gpu/memory/numa.hpp"

namespace l3 {

namespace {
/// Average number of a kernel's chunks per thread: enough to share the work evenly, few enough to
/// keep contention for the counter low.
constexpr std::uint32_t chunks_per_thread = 8;
} // namespace

thread_pool::thread_pool(std::uint32_t threads) {
  if (threads == 0)
    threads = static_cast<std::uint32_t>(std::max<std::size_t>(1, allowed_processors().size()));
  workers_.reserve(threads - 1);
  for (std::uint32_t i = 1; i < threads; ++i) {
    workers_.emplace_back([this] { work_until_stopped(); });
  }
}

thread_pool::~thread_pool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& w : workers_) w.join();
}

void thread_pool::launch(std::uint32_t blocks, task t) {
  if (blocks == 0) return;
  if (blocks == 1 || workers_.empty()) return t.call(t.context, 0, blocks);

  const std::lock_guard one_at_a_time(launching_);
  {
    const std::lock_guard lock(mutex_);
    task_ = t;
    blocks_ = blocks;
    chunk_ = std::max(1U, blocks / (threads() * chunks_per_thread));
    next_.store(0, std::memory_order_relaxed);
    active_ = threads() - 1;
    ++launches_;
  }
  wake_.notify_all();
  take_chunks();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return active_ == 0; });
}

void thread_pool::work_until_stopped() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || launches_ != seen; });
    if (stop_) return;
    seen = launches_;
    lock.unlock();
    take_chunks();
    lock.lock();
    if (--active_ == 0) done_.notify_one();
  }
}

void thread_pool::take_chunks() {
  for (;;) {
    const std::uint32_t first = next_.fetch_add(chunk_, std::memory_order_relaxed);
    if (first >= blocks_) return;
    task_.call(task_.context, first, std::min(blocks_ - first, chunk_) + first);
  }
}

} // namespace l3
