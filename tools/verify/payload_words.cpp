// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/payload_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace l3 {
namespace {

namespace json = boost::json;

std::string verb_of(event_payload p) {
  switch (p) {
  case event_payload::suppressed: return "are suppressed";
  case event_payload::features: return "have features alone";
  case event_payload::summary: return "have their summary alone";
  default: return "keep all";
  }
}

json::object json_of(const payload_tally::kept_so& of,
                     const std::map<std::uint32_t, std::string>& names) {
  json::object lines;
  for (const auto& [id, events] : of.by_line) {
    const auto known = names.find(id);
    lines[known != names.end() ? known->second : fmt::format("{:#010x}", id)] = events;
  }
  return {{"events", of.events}, {"lines", std::move(lines)}};
}

std::string words_of(const json::object& of, const std::string& verb) {
  std::vector<std::string> lines;
  for (const auto& [name, events] : of.at("lines").as_object())
    lines.push_back(fmt::format("{} ({})", std::string(name), events.to_number<std::uint64_t>()));
  return fmt::format("{} events {}, by line {}", of.at("events").to_number<std::uint64_t>(), verb,
                     fmt::join(lines, ", "));
}

} // namespace

json::object json_of(const payload_tally& t, const std::map<std::uint32_t, std::string>& names) {
  json::object all;
  for (std::uint32_t k = 0; k < event_payloads; ++k) {
    const auto p = static_cast<event_payload>(k);
    if (t.of(p).events != 0) all[name_of(p)] = json_of(t.of(p), names);
  }
  return all;
}

std::vector<std::string> payload_words(const json::object& tally) {
  std::vector<std::string> texts;
  for (std::uint32_t k = 0; k < event_payloads; ++k) {
    const auto p = static_cast<event_payload>(k);
    if (const auto* const of = tally.if_contains(name_of(p)))
      texts.push_back(words_of(of->as_object(), verb_of(p)));
  }
  return texts;
}

std::string why_not_whole(const packed_event_view& event, const std::vector<std::string>& lines) {
  const std::string by = lines.empty() ? "" : fmt::format(" by line {}", fmt::join(lines, " and "));
  return fmt::format("is {}{}: not all its waveforms were kept", name_of(event.header().payload),
                     by);
}

} // namespace l3
