// SPDX-License-Identifier: Apache-2.0
// Flushes files while their writer goes on. A disk may take bytes and fail to keep them later (a
// thin volume, a quota of a network file system, a broken disk), and only a flush tells.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>

#include "transport/format/time.hpp"
#include "transport/store/block_file.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/threads.hpp"

namespace l3 {

/// For one thread, which may wait in finish().
class background_flush {
public:
  /// `how`: a flush such as fdatasync.
  explicit background_flush(block_file::flush_function flush)
      : how_(flush), thread_([this](const std::stop_token& stop) { flush_until(stop); }) {}

  [[nodiscard]] block_file::flush_function how() const { return how_; }
  /// Whether a round of flushes is due: a second after the last one began, unless that goes on.
  [[nodiscard]] bool is_due(time_point now) {
    const std::lock_guard lock(mutex_);
    if (now < next_ || busy_ || !files_.empty()) return false;
    next_ = now + interval;
    return true;
  }
  /// Flushes what the file has now.
  void add(const block_file& file) {
    file_descriptor copy(::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0));
    if (!copy) return; // the next round flushes it
    const std::lock_guard lock(mutex_);
    files_.emplace_back(std::move(copy), file.number());
    changed_.notify_all();
  }
  struct failure {
    std::error_code error;
    std::uint64_t file = 0; ///< its number
  };
  /// The first failure since the last call.
  [[nodiscard]] std::optional<failure> take_failure() {
    const std::lock_guard lock(mutex_);
    return std::exchange(failed_, std::nullopt);
  }
  /// Waits until everything is flushed.
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return files_.empty() && !busy_; });
  }

private:
  static constexpr std::chrono::seconds interval{1};

  void flush_until(const std::stop_token& stop) {
    name_this_thread("flush");
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !files_.empty(); })) {
      const auto files = std::exchange(files_, {});
      busy_ = true;
      lock.unlock();
      std::optional<failure> failed;
      for (const auto& [file, number] : files)
        if (how_(file.get()) != 0 && !failed) failed = {last_error(), number};
      lock.lock();
      busy_ = false;
      if (!failed_) failed_ = failed;
      changed_.notify_all();
    }
  }

  const block_file::flush_function how_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::pair<file_descriptor, std::uint64_t>> files_; ///< to be flushed, with number
  bool busy_ = false;
  std::optional<failure> failed_;
  time_point next_{};
  std::jthread thread_; // the last member: it uses the others
};

} // namespace l3
