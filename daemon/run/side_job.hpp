// SPDX-License-Identifier: Apache-2.0
// One piece of work after another on a thread of its own, so that the main thread need not wait:
// what takes seconds when a run begins or ends. The main thread starts a piece, is told when it is
// done, and then asks for its outcome.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "transport/system/thread_name.hpp"

namespace l3 {

class side_job {
public:
  /// `done` is called on the working thread when a piece of work is over.
  explicit side_job(std::function<void()> done) : done_(std::move(done)) {}

  /// Not while another piece is under way.
  void start(std::function<void()> work) {
    over_ = false;
    thread_ = std::jthread([this, work = std::move(work)] {
      name_this_thread("run");
      try {
        work();
      } catch (...) {
        thrown_ = std::current_exception();
      }
      over_ = true;
      done_();
    });
  }
  /// A piece of work is under way.
  [[nodiscard]] bool busy() const { return !over_; }
  /// Throws what the work threw. Once, after each piece.
  void finish() {
    thread_.join();
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

private:
  std::function<void()> done_;
  std::atomic<bool> over_ = true;
  std::exception_ptr thrown_;
  std::jthread thread_; // the last member: it uses the others
};

} // namespace l3
