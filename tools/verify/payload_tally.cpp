// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/payload_tally.hpp"

#include <span>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/codec/decode_all.hpp"
#include "selection/trigger/line_id.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {

std::vector<std::uint32_t> lines_that_asked(const packed_event_view& event) {
  std::vector<std::uint32_t> ids;
  const auto summary = summary_view::parse(event.summary());
  if (!summary || event.payload_lines() == 0) return ids;
  const std::uint32_t asked = event.payload().asked;
  for (std::size_t n = 0; n < summary->lines.size(); ++n)
    if ((asked >> n & 1) != 0) ids.push_back(summary->lines[n].id);
  return ids;
}

std::uint32_t crc_of_payload(const packed_event_view& event) {
  if (event.payload_lines() == 0) return 0;
  std::uint32_t crc = 0;
  const auto add = [&crc]<class T>(const T& value) {
    crc = crc32c(std::as_bytes(std::span(&value, 1)), crc);
  };
  add(event.header().payload);
  add(event.payload());
  for (std::uint32_t n = 0; n < event.payload_lines(); ++n) add(event.payload_of_line(n));
  const bool has_pulses = event.header().payload == event_payload::features;
  std::vector<std::byte> fragment;
  for (std::uint32_t f = 0; f < event.fragments(); ++f) {
    for (const std::uint16_t records : kept_records(event, f)) add(records);
    if (has_pulses)
      for (const auto& data : limited_data(event, f)) crc = crc32c(data, crc);
    else if (!event.is_whole() && rebuild_fragment(event, f, fragment, strong::decode_all))
      crc = crc32c(fragment, crc);
  }
  return crc;
}

void payload_tally::add(const packed_event_view& event) {
  if (event.is_whole()) return;
  ++events_;
  all_[static_cast<std::size_t>(event.header().payload)].add(event);
}

void payload_tally::kept_so::add(const packed_event_view& event) {
  ++events;
  for (const std::uint32_t id : lines_that_asked(event)) ++by_line[id];
}

std::map<std::uint32_t, std::string> line_names(const selection_settings& selection) {
  std::map<std::uint32_t, std::string> names;
  for (const line_settings& line : selection.lines)
    names.emplace(line_id(line.name.value), line.name.value);
  return names;
}

std::map<std::uint32_t, std::string> line_names(const std::string& selection) {
  try {
    return line_names(parse_selection(selection, "the settings"));
  } catch (const std::runtime_error&) {
    return {};
  }
}

namespace {

namespace json = boost::json;

std::string verb_of(event_payload p) {
  switch (p) {
  case event_payload::suppressed: return "are suppressed";
  case event_payload::features: return "have features alone";
  case event_payload::summary: return "have only their summary";
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
