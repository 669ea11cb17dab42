// SPDX-License-Identifier: Apache-2.0
// The pool executor runs blocks of width 1 on the threads of a pool: for production on machines
// without a GPU.
//
// The pool starts its workers once; they sleep between kernels. The launching thread works on the
// kernel too and returns when all blocks are done. Threads fetch chunks of blocks by an atomic
// counter, so that no thread waits for a slow one's share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "gpu/executors/solo.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3 {

class thread_pool {
public:
  /// `threads` counts the launching thread; 0: one per processor.
  explicit thread_pool(std::uint32_t threads);
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  [[nodiscard]] std::uint32_t threads() const {
    return static_cast<std::uint32_t>(workers_.size()) + 1;
  }

  /// Calls work(first, last) for chunks that together cover 0 … blocks − 1. Launches from several
  /// threads run one after the other.
  template <class Work>
  void run(std::uint32_t blocks, const Work& work) {
    launch(blocks, {&work, [](const void* w, std::uint32_t first, std::uint32_t last) {
                      (*static_cast<const Work*>(w))(first, last);
                    }});
  }

private:
  struct task {
    const void* context = nullptr;
    void (*call)(const void*, std::uint32_t, std::uint32_t) = nullptr;
  };

  void launch(std::uint32_t blocks, task t);
  void work_until_stopped();
  void take_chunks();

  std::mutex launching_; ///< held by the thread whose kernel is running

  // The running kernel, which launch() writes while no worker is active.
  task task_;
  std::uint32_t blocks_ = 0;
  std::uint32_t chunk_ = 1;
  std::atomic<std::uint32_t> next_ = 0;

  std::mutex mutex_; ///< guards the members below, except workers_
  std::condition_variable wake_;
  std::condition_variable done_;
  std::uint64_t launches_ = 0;
  std::uint32_t active_ = 0;
  bool stop_ = false;

  std::vector<std::thread> workers_;
};

class pool_queue {
public:
  using memory = host_memory;

  /// The pool outlives the queue.
  explicit pool_queue(thread_pool& pool) : pool_(&pool) {}

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    pool_->run(blocks, [&](std::uint32_t first, std::uint32_t last) {
      run_solo<Kernel, Args...>(kernel, first, last, args...);
    });
  }

private:
  thread_pool* pool_;
};

} // namespace l3
