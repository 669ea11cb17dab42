// SPDX-License-Identifier: Apache-2.0
// Watches the disks: whether the daemon's folders stay the same ones, whether there is room for a
// run, and which blocks wait in the spool while no node runs. A hanging disk blocks only this
// watch's thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "config/settings.hpp"
#include "transport/outbox/spool_index.hpp"
#include "transport/system/known_folder.hpp"

namespace l3 {

/// One sentence for each disk that lacks room for a run now.
[[nodiscard]] std::vector<std::string> disk_shortages(const daemon_settings& s);

class disk_watch {
public:
  explicit disk_watch(const daemon_settings& s, std::chrono::nanoseconds interval = longest_wait);

  struct spool_content {
    spool_totals totals;
    std::uint64_t room = 0; ///< bytes that may still be written
  };
  /// The result of the last look, at most a second old. Nothing if the blocks have not been counted
  /// yet, or without spool.folder.
  [[nodiscard]] std::optional<spool_content> spool() const;
  /// The next look counts the blocks in spool.folder.
  void count_spool();
  /// Why a folder is no longer the one of the start, so that the daemon has to end; empty if all
  /// are.
  [[nodiscard]] std::string why_gone() const;

private:
  static constexpr std::chrono::nanoseconds longest_wait = std::chrono::seconds(1);

  void look(const std::stop_token& stop);
  [[nodiscard]] std::uint64_t room_for(const spool_totals& totals) const;

  const daemon_settings settings_;
  std::vector<known_folder> folders_; ///< of spool and ledgers
  mutable std::mutex mutex_;
  std::condition_variable_any next_;
  bool counts_ = false;
  std::string why_gone_;
  std::optional<spool_content> spool_;
  std::jthread thread_; // the last member: it uses the others
};

} // namespace l3
