// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/payload_words.hpp"

#include <fmt/format.h>

#include "selection/trigger/line_id.hpp"
#include "selection/trigger/parse_selection.hpp"

namespace l3 {
namespace {

std::string name_of_line(std::uint32_t id) {
  static const selection_settings known = default_selection();
  for (const line_settings& line : known.lines)
    if (line_id(line.name.value) == id) return line.name.value;
  return fmt::format("{:#010x}", id);
}

std::string verb_of(event_payload p) {
  switch (p) {
  case event_payload::suppressed: return "are suppressed";
  case event_payload::features: return "have features alone";
  case event_payload::summary: return "have their summary alone";
  default: return "keep all";
  }
}

} // namespace

std::vector<std::string> payload_words(const payload_tally& t) {
  std::vector<std::string> texts;
  for (std::uint32_t k = 0; k < event_payloads; ++k) {
    const auto p = static_cast<event_payload>(k);
    if (t.events(p) == 0) continue;
    std::vector<std::string> lines;
    for (const auto& [id, events] : t.by_line(p))
      lines.push_back(fmt::format("{} ({})", name_of_line(id), events));
    texts.push_back(
        fmt::format("{} events {}, by line {}", t.events(p), verb_of(p), fmt::join(lines, ", ")));
  }
  return texts;
}

boost::json::object json_of(const payload_tally& t) {
  boost::json::object all;
  for (std::uint32_t k = 0; k < event_payloads; ++k) {
    const auto p = static_cast<event_payload>(k);
    boost::json::object lines;
    for (const auto& [id, events] : t.by_line(p)) lines[name_of_line(id)] = events;
    if (t.events(p) > 0)
      all[name_of(p)] = boost::json::object{{"events", t.events(p)}, {"lines", std::move(lines)}};
  }
  return all;
}

} // namespace l3
