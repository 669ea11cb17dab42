// SPDX-License-Identifier: Apache-2.0
// One piece of work after another on a thread of its own, so that the main thread need not wait:
// what takes seconds when a run begins or ends. The main thread starts a piece, is told when it is
// done, and then asks for its outcome.
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
  /// `done` is called on the working thread when a piece of work is over.
  explicit side_job(std::function<void()> done) : done_(std::move(done)) {}

  /// Not while another piece is under way. Throws std::system_error.
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
  /// A piece of work is under way.
  [[nodiscard]] bool busy() const { return busy_; }
  /// Waits for the piece that is under way, and throws what the work threw. Once, after each piece.
  void finish() { outcome_.get(); }

private:
  std::function<void()> done_;
  std::atomic<bool> busy_ = false;
  std::future<void> outcome_; // the last member: its end waits for the piece
};

} // namespace l3
