// SPDX-License-Identifier: Apache-2.0
// Pages with the latest kept events, for the daemon's page and its script
// (selection/display/event.js). The HTTP server's thread unpacks an event when it is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "monitor/http_server.hpp"
#include "selection/display/kept_events.hpp"
#include "selection/trigger/load_selection.hpp"

namespace l3 {

class event_display {
public:
  /// `by`: the selection that decides, or one without lines.
  event_display(loaded_selection by, std::uint32_t run, const kept_events& kept)
      : by_(std::move(by)), run_(run), kept_(kept) {}

  /// /detector, /events (the list), and /event/0 to /event/15.
  [[nodiscard]] static std::vector<std::string> paths();
  /// Adds these; without a display they return "null". One thread calls it.
  static void add_pages(const event_display* display, http_pages& to);

private:
  loaded_selection by_;
  std::uint32_t run_;
  const kept_events& kept_;
};

} // namespace l3
