// SPDX-License-Identifier: Apache-2.0
// One of the latest stored events, for the receiver's page: it takes one every two seconds, from
// any node, and draws it as the daemon's page does (selection/display/event.js). The settings in
// the session's blocks give geometry and names, so a session has no event until they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "monitor/http_server.hpp"
#include "selection/trigger/load_selection.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class stored_event {
public:
  /// For the storing thread: a block that was stored. It never waits for a reader.
  void offer(std::span<const std::byte> block, time_point now);
  /// /event, "null" without one, and /event.js. One thread calls them.
  [[nodiscard]] http_pages pages();

private:
  using bytes = std::shared_ptr<const std::vector<std::byte>>;
  struct copy {
    bytes event;
    bytes settings;
    std::uint32_t run = 0;
  };
  [[nodiscard]] http_response page();

  // Of the storing thread.
  std::map<std::uint64_t, bytes> settings_; ///< by session
  time_point next_{};

  std::mutex mutex_;
  copy latest_;

  // Of the reading thread.
  copy shown_;
  std::optional<loaded_selection> by_; ///< the settings of the event shown
  shared_text text_{"null"};
};

} // namespace l3
