// SPDX-License-Identifier: Apache-2.0
// Writes lines of text to a descriptor without waiting for a reader: a log may go to a pipe without
// a reader, a stopped terminal, a full disk. A thread writes lines that others put into a queue of
// fixed size. When it is full, lines are dropped until all of it is written, and a line there gives
// the number of missing ones.
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

#include "transport/system/threads.hpp"

namespace l3 {

class line_writer {
public:
  /// Returns the line, with its end, that reports the missing lines.
  using notice = std::function<std::string(std::uint64_t left_out)>;

  line_writer(int descriptor, notice of_missing)
      : state_(std::make_shared<state>(descriptor, std::move(of_missing))) {
    // Other threads handle signals, and a closed pipe is an error, not SIGPIPE.
    sigset_t all{};
    sigset_t before{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    // It may wait in a system call forever, so no thread can wait for it to end.
    std::thread([s = state_] {
      name_this_thread("log");
      s->write_until_told();
    }).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  /// Waits for the lines to be written, but only briefly.
  ~line_writer() {
    flush();
    state_->stop();
  }
  line_writer(const line_writer&) = delete;
  line_writer& operator=(const line_writer&) = delete;

  /// Queues one or several lines with their ends. Any thread; never waits.
  void write(std::string_view lines) { state_->take(lines); }
  /// Waits until all lines are written, or until a second passes without progress.
  void flush() { state_->wait_until_written(); }
  /// Number of lines dropped so far.
  [[nodiscard]] std::uint64_t left_out() const { return state_->left_out(); }
  /// Whether no line is waiting to be written.
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
        // As on a full disk: retries later, not continuously.
        if (failed_) changed_.wait_for(lock, patience, [&] { return stopped_; });
      }
    }

  private:
    [[nodiscard]] bool idle_with_lock() const {
      return waiting_.empty() && writing_.empty() && missing_ == 0;
    }

    /// Returns the bytes that an error has left unwritten.
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
    std::uint64_t written_ = 0;  // number of writes
    std::uint64_t missing_ = 0;  // lines not yet reported
    std::uint64_t left_out_ = 0; // in total
    bool failed_ = false;        // the last attempt failed
    bool stopped_ = false;
  };

  std::shared_ptr<state> state_;
};

} // namespace l3
