// SPDX-License-Identifier: Apache-2.0
// The latest stored events, for the receiver's page, which draws one as the daemon's page does
// (selection/display/event.js). The settings in the session's blocks give geometry and names, so a
// session has no event until they came.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "monitor/http_server.hpp"
#include "selection/display/kept_events.hpp"
#include "selection/trigger/load_selection.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class shown_events {
public:
  /// For the storing thread: a block that was stored. It never waits for a reader.
  void offer(std::span<const std::byte> block, time_point now);
  /// /events, a list (kept_events::list_json); /event/0 to /event/15, with the detector, "null"
  /// without one; and /event.js. One thread calls them.
  [[nodiscard]] http_pages pages();

private:
  [[nodiscard]] const loaded_selection* selection_of(const event_origin& from);
  [[nodiscard]] std::string event_text(const kept_events::copy& of);

  kept_events kept_;
  std::map<std::uint64_t, shared_bytes> settings_; ///< by session; of the storing thread
  /// By settings and run; nothing if this version cannot read them. Of the reading thread.
  std::map<std::pair<std::vector<std::byte>, std::uint32_t>, std::optional<loaded_selection>> by_;
};

} // namespace l3
