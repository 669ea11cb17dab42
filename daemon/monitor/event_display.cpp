// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/event_display.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "selection/display/event_picture.hpp"

namespace l3 {

namespace json = boost::json;

namespace {

std::string path_of(std::size_t place) { return "/event/" + std::to_string(place); }

} // namespace

std::vector<std::string> event_display::paths() {
  std::vector<std::string> all{"/detector", "/events"};
  for (std::size_t place = 0; place < kept_events::room; ++place) all.push_back(path_of(place));
  return all;
}

std::string event_display::list_json() const {
  const auto copies = kept_.latest();
  std::array<std::size_t, kept_events::room> places{};
  for (std::size_t p = 0; p < places.size(); ++p) places[p] = p;
  std::ranges::sort(places, std::greater{}, [&](std::size_t p) { return copies[p].number; });
  const std::vector<std::string> names = by_.line_names();
  json::array list;
  for (const std::size_t place : places) {
    if (!copies[place].event) break;
    const auto event = packed_event_view::parse(*copies[place].event);
    if (!event) continue;
    json::array lines;
    for (std::size_t n = 0; n < names.size(); ++n)
      if ((copies[place].lines >> n & 1) != 0) lines.emplace_back(names[n]);
    list.push_back(json::object{{"page", path_of(place)},
                                {"spill", event->key().spill},
                                {"event", event->key().number},
                                {"lines", std::move(lines)}});
  }
  return json::serialize(list);
}

void event_display::add_pages(const event_display* display, http_pages& to) {
  if (display == nullptr) {
    for (const std::string& path : paths())
      to[path] = [] { return json_text(std::string("null")); };
    return;
  }
  to["/detector"] = [text = shared_text(detector_json(display->by_))] { return json_text(text); };
  to["/events"] = [display] { return json_text(display->list_json()); };
  for (std::size_t place = 0; place < kept_events::room; ++place)
    to[path_of(place)] = [display, place, text = shared_text("null"),
                          of = std::uint64_t{0}]() mutable {
      const kept_events::copy now = display->kept_.latest()[place];
      if (now.number == std::exchange(of, now.number)) return json_text(text); // still the same
      const auto event = packed_event_view::parse(*now.event);
      const auto picture = picture_of(event.value(), display->run_, display->by_.what);
      return json_text(text = event_json(picture, display->by_));
    };
}

} // namespace l3
