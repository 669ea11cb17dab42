// SPDX-License-Identifier: Apache-2.0
// Copies of the latest kept events, for people who look at them: one every two seconds, so the cost
// is not measurable. The previous copy stays as well, because a viewer of that event may still ask
// for its waveforms.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "monitor/http_server.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class kept_events {
public:
  using packed = std::shared_ptr<const std::vector<std::byte>>;
  static constexpr auto period = std::chrono::seconds(2);

  /// One thread calls it and never waits: an event is skipped while a reader copies.
  void offer(std::span<const std::byte> event, time_point now) {
    if (now < next_) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    next_ = now + period;
    latest_[1] = std::exchange(
        latest_[0], std::make_shared<const std::vector<std::byte>>(event.begin(), event.end()));
  }

  /// Any thread. The latest event first; empty before the first event.
  [[nodiscard]] std::array<packed, 2> latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
  }

private:
  time_point next_{};
  mutable std::mutex mutex_;
  std::array<packed, 2> latest_;
};

/// A page made from the latest kept events, again only when they have changed. For one thread.
class page_of_kept {
public:
  page_of_kept(const kept_events& kept, std::function<std::string()> make)
      : kept_(kept), make_(std::move(make)) {}

  shared_text text() {
    auto latest = kept_.latest();
    if (!text_ || latest != of_) {
      text_ = make_();
      of_ = std::move(latest);
    }
    return *text_;
  }

private:
  const kept_events& kept_;
  std::function<std::string()> make_;
  std::array<kept_events::packed, 2> of_;
  std::optional<shared_text> text_;
};

} // namespace l3
