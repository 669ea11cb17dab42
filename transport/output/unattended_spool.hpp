// SPDX-License-Identifier: Apache-2.0
// What lies in a spool's folder while no run is in force and no spool has it open: so many events
// wait for the node of the next run, which sends them. It only reads: what a crash cost is found,
// and told, by that node. A thread of its own looks at the names and the times of the files every
// second, and reads the headers of the blocks when a file has changed; any thread asks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "transport/output/settings.hpp"
#include "transport/output/spool_index.hpp"
#include "transport/store/held_folder.hpp"

namespace l3 {

class unattended_spool {
public:
  struct content {
    spool_totals totals;
    std::uint64_t room = 0; ///< bytes that may still be written
  };

  /// Looks from now on. Throws std::system_error.
  explicit unattended_spool(spool_settings settings,
                            std::chrono::nanoseconds interval = std::chrono::seconds(1));

  /// Looks no more: a spool may take the folder. Any number of times, by the thread that made it.
  void stop();
  [[nodiscard]] bool is_stopped() const { return !thread_.joinable(); }

  /// As of the last look; nothing: the blocks have not been read to their end yet.
  [[nodiscard]] std::optional<content> holds() const;

private:
  struct segment {
    std::uint64_t number = 0;
    file_look as;
    friend bool operator==(const segment&, const segment&) = default;
  };
  struct listing {
    std::vector<segment> segments; ///< by rising number
    std::optional<file_look> releases;
    friend bool operator==(const listing&, const listing&) = default;
  };

  void look(const std::stop_token& stop);
  [[nodiscard]] listing list() const;
  [[nodiscard]] spool_totals count(const listing& files, const std::stop_token& stop) const;
  [[nodiscard]] std::uint64_t room(const spool_totals& totals) const;

  const spool_settings settings_;
  std::optional<listing> counted_; ///< for the thread
  mutable std::mutex mutex_;       ///< guards the content
  std::condition_variable_any next_;
  std::optional<content> content_;
  std::jthread thread_; // the last member: it uses the others
};

} // namespace l3
