// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/payload_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace l3 {
namespace {

std::string verb_of(event_payload p) {
  switch (p) {
  case event_payload::suppressed: return "are suppressed";
  case event_payload::features: return "have features alone";
  case event_payload::summary: return "have their summary alone";
  default: return "keep all";
  }
}

} // namespace

boost::json::object json_of(const payload_tally& t,
                            const std::map<std::uint32_t, std::string>& names) {
  boost::json::object all;
  for (std::uint32_t k = 0; k < event_payloads; ++k) {
    const auto p = static_cast<event_payload>(k);
    if (t.events(p) == 0) continue;
    boost::json::object lines;
    for (const auto& [id, events] : t.by_line(p)) {
      const auto known = names.find(id);
      lines[known != names.end() ? known->second : fmt::format("{:#010x}", id)] = events;
    }
    all[name_of(p)] = boost::json::object{{"events", t.events(p)}, {"lines", std::move(lines)}};
  }
  return all;
}

std::vector<std::string> payload_words(const boost::json::object& tally) {
  std::vector<std::string> texts;
  for (std::uint32_t k = 0; k < event_payloads; ++k) {
    const auto p = static_cast<event_payload>(k);
    const auto* const of = tally.if_contains(name_of(p));
    if (of == nullptr) continue;
    std::vector<std::string> lines;
    for (const auto& [name, events] : of->at("lines").as_object())
      lines.push_back(fmt::format("{} ({})", std::string(name), events.to_number<std::uint64_t>()));
    texts.push_back(fmt::format("{} events {}, by line {}",
                                of->at("events").to_number<std::uint64_t>(), verb_of(p),
                                fmt::join(lines, ", ")));
  }
  return texts;
}

} // namespace l3
