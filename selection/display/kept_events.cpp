// SPDX-License-Identifier: Apache-2.0
#include "selection/display/kept_events.hpp"

#include <boost/json.hpp>

#include "transport/store/event_view.hpp"

namespace l3 {

namespace json = boost::json;

std::string kept_events::list_json(
    const std::function<std::vector<std::string>(const event_origin&)>& names) const {
  const auto copies = latest();
  std::array<std::size_t, room> places{};
  for (std::size_t p = 0; p < places.size(); ++p) places[p] = p;
  std::ranges::sort(places, std::greater{}, [&](std::size_t p) { return copies[p].number; });
  json::array list;
  for (const std::size_t place : places) {
    const copy& c = copies[place];
    if (!c.event) break;
    const auto event = packed_event_view::parse(*c.event);
    if (!event) continue;
    json::array lines;
    const std::vector<std::string> all = names(c.from);
    for (std::size_t n = 0; n < all.size(); ++n)
      if ((c.lines >> n & 1) != 0) lines.emplace_back(all[n]);
    list.push_back(json::object{{"page", page_of(place)},
                                {"run", c.from.run},
                                {"node", c.from.node},
                                {"spill", event->key().spill},
                                {"event", event->key().number},
                                {"lines", std::move(lines)}});
  }
  return json::serialize(list);
}

} // namespace l3
