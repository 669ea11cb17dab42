// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/event_display.hpp"

#include "selection/display/event_picture.hpp"

namespace l3 {

std::vector<std::string> event_display::paths() {
  std::vector<std::string> all{"/detector", "/events"};
  for (std::size_t place = 0; place < kept_events::room; ++place)
    all.push_back(kept_events::page_of(place));
  return all;
}

void event_display::add_pages(const event_display* display, http_pages& to) {
  if (display == nullptr) {
    for (const std::string& path : paths())
      to[path] = [] { return json_text(std::string("null")); };
    return;
  }
  to["/detector"] = [text = shared_text(detector_json(display->by_))] { return json_text(text); };
  to["/events"] = [display, names = display->by_.line_names()] {
    return json_text(display->kept_.list_json([&](const auto&) { return names; }));
  };
  for (std::size_t place = 0; place < kept_events::room; ++place)
    to[kept_events::page_of(place)] = [display, place, text = shared_text("null"),
                                       of = std::uint64_t{0}]() mutable {
      const kept_events::copy now = display->kept_.latest()[place];
      if (now.number == std::exchange(of, now.number)) return json_text(text); // still the same
      const auto event = packed_event_view::parse(*now.event);
      const auto picture = picture_of(event.value(), display->run_, display->by_.what);
      return json_text(text = event_json(picture, display->by_));
    };
}

} // namespace l3
