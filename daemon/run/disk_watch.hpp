// SPDX-License-Identifier: Apache-2.0
// Whether the disks have room for a run: asked by run control before one begins, and watched while
// none is in force, when no node looks. A disk that hangs holds up the watch's own thread alone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/settings.hpp"

namespace l3 {

/// A sentence for each disk that is short of room for a run, now.
[[nodiscard]] std::vector<std::string> disk_shortages(const daemon_settings& s);

class disk_watch {
public:
  explicit disk_watch(const daemon_settings& s, std::chrono::nanoseconds interval = longest_wait);

  /// As of the last look, a second ago at most. Any thread.
  [[nodiscard]] std::vector<std::string> shortages() const;

private:
  static constexpr std::chrono::nanoseconds longest_wait = std::chrono::seconds(1);

  const daemon_settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable_any next_;
  std::vector<std::string> shortages_;
  std::jthread thread_; // the last member: it uses the others
};

} // namespace l3
