// SPDX-License-Identifier: Apache-2.0
#include "tools/receive/shown_events.hpp"

#include <stdexcept>
#include <utility>

#include "selection/display/event_picture.hpp"
#include "transport/store/block.hpp"

namespace l3 {

namespace {

constexpr std::size_t most_sessions = 64;

} // namespace

void shown_events::offer(std::span<const std::byte> block, time_point now) {
  const auto header = load<block_header>(block.data());
  const auto payload = block.subspan(sizeof header);
  if (header.settings_bytes != 0) {
    const auto bytes = payload.last(header.settings_bytes);
    if (settings_.size() >= most_sessions) settings_.clear(); // they come again
    settings_[header.session] =
        std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  }
  const auto settings = settings_.find(header.session);
  if (settings == settings_.end()) return;
  event_walk walk(payload.first(events_bytes(header)), header);
  while (const auto event = walk.next())
    kept_.offer(*event, lines_that_kept(*event), now, {settings->second, header.run, header.node});
}

const loaded_selection* shown_events::selection_of(const event_origin& from) {
  constexpr std::size_t most = 16;
  const std::pair key(*from.settings, from.run);
  const auto known = by_.find(key);
  if (known != by_.end()) return known->second ? &*known->second : nullptr;
  if (by_.size() >= most) by_.clear();
  auto& made = by_[key];
  try {
    const auto settings = decode_settings(*from.settings);
    if (settings && !settings->lines.empty())
      made = load_selection(*settings, "the settings of a session", from.run);
  } catch (const std::runtime_error&) { // settings of another version
  }
  return made ? &*made : nullptr;
}

std::string shown_events::event_text(const kept_events::copy& of) {
  const auto event = of.event ? packed_event_view::parse(*of.event) : std::nullopt;
  const auto* const by = event ? selection_of(of.from) : nullptr;
  return by != nullptr ? event_with_detector_json(picture_of(*event, of.from.run, by->what), *by)
                       : "null";
}

http_pages shown_events::pages() {
  http_pages all;
  all["/events"] = [this] {
    return json_text(kept_.list_json([this](const event_origin& from) {
      const auto* const by = selection_of(from);
      return by != nullptr ? by->line_names() : std::vector<std::string>();
    }));
  };
  for (std::size_t place = 0; place < kept_events::room; ++place)
    all[kept_events::page_of(place)] = [this, place, text = shared_text("null"),
                                        of = std::uint64_t{0}]() mutable {
      const kept_events::copy now = kept_.latest()[place];
      if (now.number == std::exchange(of, now.number)) return json_text(text); // still the same
      return json_text(text = event_text(now));
    };
  all["/event.js"] = [] {
    return http_response{200, "text/javascript; charset=utf-8", std::string(event_module)};
  };
  return all;
}

} // namespace l3
