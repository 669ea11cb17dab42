// SPDX-License-Identifier: Apache-2.0
// Writes lines of text to a descriptor without waiting for whoever reads them: a log may go to a
// pipe that no program reads, to a terminal that was told to stop, to a full disk. A thread writes;
// the others put their lines into a queue of fixed size. When it is full they leave lines out,
// until all that is in it has been written and a line there says how many are missing.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "transport/system/thread_name.hpp"

namespace l3 {

class line_writer {
public:
  /// The line, with its end, that stands where so many lines are missing.
  using notice = std::function<std::string(std::uint64_t left_out)>;

  line_writer(int descriptor, notice of_missing)
      : state_(std::make_shared<state>(descriptor, std::move(of_missing))) {
    // Signals belong to the other threads, and a pipe that was closed is an error, no SIGPIPE.
    sigset_t all{};
    sigset_t before{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    // It may wait in a call of the system for ever: no thread can wait for it to end.
    std::thread([s = state_] {
      name_this_thread("log");
      s->write_until_told();
    }).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  /// Waits for the lines to be written, but not for long.
  ~line_writer() {
    flush();
    state_->stop();
  }
  line_writer(const line_writer&) = delete;
  line_writer& operator=(const line_writer&) = delete;

  /// A line with its end, or several. Any thread; waits for nothing.
  void write(std::string_view lines) { state_->take(lines); }
  /// Waits until all lines are written, or a second without any progress is over.
  void flush() { state_->wait_until_written(); }
  /// How many have been left out so far.
  [[nodiscard]] std::uint64_t left_out() const { return state_->left_out(); }
  /// Nothing waits to be written.
  [[nodiscard]] bool idle() const { return state_->idle(); }

private:
  static constexpr std::size_t most_bytes = 256 << 10;
  static constexpr auto patience = std::chrono::seconds(1);

  class state {
  public:
    state(int descriptor, notice of_missing)
        : descriptor_(descriptor), notice_(std::move(of_missing)) {
      waiting_.reserve(most_bytes);
      writing_.reserve(most_bytes);
    }

    void take(std::string_view lines) {
      const std::lock_guard lock(mutex_);
      if (missing_ > 0 || lines.size() > most_bytes - waiting_.size()) {
        ++missing_;
        ++left_out_;
      } else {
        waiting_ += lines;
      }
      changed_.notify_all();
    }

    void wait_until_written() {
      std::unique_lock lock(mutex_);
      for (auto before = written_; !idle_with_lock() && !failed_; before = written_) {
        const bool moved = changed_.wait_for(lock, patience, [&] { return written_ != before; });
        if (!moved) return;
      }
    }

    void stop() {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
    }

    [[nodiscard]] std::uint64_t left_out() const {
      const std::lock_guard lock(mutex_);
      return left_out_;
    }
    [[nodiscard]] bool idle() const {
      const std::lock_guard lock(mutex_);
      return idle_with_lock();
    }

    void write_until_told() {
      std::unique_lock lock(mutex_);
      while (true) {
        changed_.wait(lock, [&] { return stopped_ || !waiting_.empty() || missing_ > 0; });
        if (stopped_) return;
        const std::uint64_t missing = missing_;
        const bool only_notice = waiting_.empty();
        if (only_notice) waiting_ = notice_(missing);
        std::swap(waiting_, writing_);
        lock.unlock();
        const std::string_view rest = write_all();
        lock.lock();
        failed_ = !rest.empty();
        if (!only_notice) {
          const auto lost = static_cast<std::uint64_t>(std::ranges::count(rest, '\n'));
          missing_ += lost;
          left_out_ += lost;
        } else if (!failed_) {
          missing_ -= missing;
        }
        writing_.clear();
        ++written_;
        changed_.notify_all();
        // As on a full disk: it tries again later, and not over and over.
        if (failed_) changed_.wait_for(lock, patience, [&] { return stopped_; });
      }
    }

  private:
    [[nodiscard]] bool idle_with_lock() const {
      return waiting_.empty() && writing_.empty() && missing_ == 0;
    }

    /// What an error has left unwritten.
    std::string_view write_all() {
      std::string_view rest = writing_;
      while (!rest.empty()) {
        const auto n = ::write(descriptor_, rest.data(), rest.size());
        if (n >= 0) {
          rest.remove_prefix(static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) {
          pollfd room{descriptor_, POLLOUT, 0};
          (void)::poll(&room, 1, -1);
        } else if (errno != EINTR) {
          return rest;
        }
      }
      return rest;
    }

    const int descriptor_;
    const notice notice_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::string waiting_;        // for the thread
    std::string writing_;        // by the thread, without the lock
    std::uint64_t written_ = 0;  // how often
    std::uint64_t missing_ = 0;  // lines that no notice has told of
    std::uint64_t left_out_ = 0; // in all
    bool failed_ = false;        // at the last attempt
    bool stopped_ = false;
  };

  std::shared_ptr<state> state_;
};

} // namespace l3
