// SPDX-License-Identifier: Apache-2.0
// Copies of the latest kept events, for the pages of daemon and receiver: of each trigger line one
// every two seconds, so the cost is not measurable. The latest event of a rare line stays as long
// as there are others to give up.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/format/summary.hpp"
#include "transport/format/time.hpp"

namespace l3 {

using shared_bytes = std::shared_ptr<const std::vector<std::byte>>;

/// Where a receiver has an event from; a daemon has only its own.
struct event_origin {
  shared_bytes settings{};
  std::uint32_t run = 0;
  std::uint32_t node = 0;
};

class kept_events {
public:
  static constexpr auto period = std::chrono::seconds(2);
  static constexpr std::size_t room = 16;
  struct copy {
    shared_bytes event;
    event_origin from;
    std::uint32_t lines = 0;  ///< bit n: line n kept it
    std::uint64_t number = 0; ///< counts copies from 1
  };

  /// One thread calls it and never waits: an event is skipped while a reader copies.
  void offer(std::span<const std::byte> event, std::uint32_t lines, time_point now,
             const event_origin& from = {}) {
    if (now >= next_) {
      next_ = now + period;
      seen_ = 0;
    }
    const std::uint64_t of = lines != 0 ? lines : no_line;
    if ((of & ~seen_) == 0) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    seen_ |= of;
    to_replace(lines) = {std::make_shared<const std::vector<std::byte>>(event.begin(), event.end()),
                         from, lines, ++copies_};
  }

  /// JSON of the copies, the latest first: `page` ("/event/3"), `run`, `node`, `spill`, `event`,
  /// and `lines` that kept it, from their names by bit. Any thread.
  [[nodiscard]] std::string
  list_json(const std::function<std::vector<std::string>(const event_origin&)>& names) const;
  /// The page of a place among the latest.
  [[nodiscard]] static std::string page_of(std::size_t place) {
    return "/event/" + std::to_string(place);
  }
  /// Any thread. A copy keeps its place until another one replaces it.
  [[nodiscard]] std::array<copy, room> latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
  }

private:
  /// The oldest copy whose lines other copies also have; else the oldest copy.
  copy& to_replace(std::uint32_t lines) {
    const auto is_spare = [&](const copy& c) {
      std::uint32_t others = lines;
      for (const copy& o : latest_) others |= &o == &c ? 0 : o.lines;
      return (c.lines & ~others) == 0;
    };
    return *std::ranges::min_element(
        latest_, {}, [&](const copy& c) { return std::pair(!is_spare(c), c.number); });
  }

  static constexpr std::uint64_t no_line = std::uint64_t{1} << max_lines;

  time_point next_{};
  std::uint64_t seen_ = 0; ///< lines of this period's copies
  mutable std::mutex mutex_;
  std::array<copy, room> latest_;
  std::uint64_t copies_ = 0;
};

} // namespace l3
