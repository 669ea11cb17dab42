// SPDX-License-Identifier: Apache-2.0
// Runs one piece of work at a time on another thread, so that the main thread need not wait while a
// run begins or ends. The main thread starts a piece, is notified when it is done, and then asks
// for the result.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <future>
#include <utility>

#include "transport/system/thread_name.hpp"

namespace l3 {

class side_job {
public:
  /// `done` is called on the working thread when a piece of work is finished.
  explicit side_job(std::function<void()> done) : done_(std::move(done)) {}

  /// Not while another piece is in progress. Throws std::system_error.
  void start(std::function<void()> work) {
    busy_ = true;
    outcome_ = std::async(std::launch::async, [this, work = std::move(work)] {
      name_this_thread("run");
      std::exception_ptr thrown;
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      busy_ = false;
      done_();
      if (thrown) std::rethrow_exception(thrown);
    });
  }
  /// Whether a piece of work is in progress.
  [[nodiscard]] bool busy() const { return busy_; }
  /// Waits for the current piece and rethrows its exception. Call it once after each piece.
  void finish() { outcome_.get(); }

private:
  std::function<void()> done_;
  std::atomic<bool> busy_ = false;
  std::future<void> outcome_; // the last member: its destructor waits for the piece
};

} // namespace l3
