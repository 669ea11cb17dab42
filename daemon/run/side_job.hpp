// SPDX-License-Identifier: Apache-2.0
// One piece of work after another on a thread of its own, so that the main thread need not wait:
// what takes seconds when a run begins or ends. The main thread starts a piece, is told when it is
// done, and then asks for its outcome. The thread is there from the beginning: at the end of a run
// the system may give none.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "transport/system/thread_name.hpp"

namespace l3 {

class side_job {
public:
  /// `done` is called on the working thread when a piece of work is over. Throws std::system_error.
  explicit side_job(std::function<void()> done)
      : done_(std::move(done)), thread_([this](const std::stop_token& stop) {
          name_this_thread("run");
          work(stop);
        }) {}

  /// Not while another piece is under way.
  void start(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      work_ = std::move(work);
      over_ = false;
    }
    changed_.notify_all();
  }
  /// A piece of work is under way.
  [[nodiscard]] bool busy() const { return !over_; }
  /// Waits for the piece that is under way, and throws what the work threw. Once, after each piece.
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_.load(); });
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !over_; })) {
      const auto work = std::exchange(work_, nullptr);
      lock.unlock();
      std::exception_ptr thrown;
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      thrown_ = thrown;
      over_ = true;
      changed_.notify_all();
      lock.unlock();
      done_();
      lock.lock();
    }
  }

  std::function<void()> done_;
  std::mutex mutex_; ///< guards the next, thrown_, and changes of over_
  std::function<void()> work_;
  std::exception_ptr thrown_;
  std::atomic<bool> over_ = true;
  std::condition_variable_any changed_;
  std::jthread thread_; // the last member: it uses the others
};

} // namespace l3
