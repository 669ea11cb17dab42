// SPDX-License-Identifier: Apache-2.0
// One line on a terminal that shows how far a command is; silent without a terminal. For one
// thread.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace l3 {

class progress {
public:
  /// `total` 0: unknown.
  progress(std::string label, std::uint64_t total, std::string unit)
      : label_(std::move(label)), unit_(std::move(unit)), total_(total),
        shown_(::isatty(STDERR_FILENO) != 0) {}
  ~progress() { clear(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// Cheap: prints at most ten times a second, and not within the first second.
  void update(std::uint64_t done) {
    if (!shown_) return;
    const auto now = clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    visible_ = true;
    const auto n = static_cast<unsigned long long>(done);
    if (total_ == 0) {
      std::fprintf(stderr, "\r%s %llu %s\033[K", label_.c_str(), n, unit_.c_str());
    } else {
      const auto all = static_cast<unsigned long long>(total_);
      std::fprintf(stderr, "\r%s %llu of %llu %s (%llu %%)\033[K", label_.c_str(), n, all,
                   unit_.c_str(), n * 100 / all);
    }
    std::fflush(stderr);
  }

  /// Removes the line, as the destructor does.
  void clear() {
    if (visible_) std::fputs("\r\033[K", stderr);
    visible_ = false;
  }

private:
  using clock = std::chrono::steady_clock;

  std::string label_;
  std::string unit_;
  std::uint64_t total_;
  bool shown_;
  bool visible_ = false;
  clock::time_point next_ = clock::now() + std::chrono::seconds(1);
};

} // namespace l3
