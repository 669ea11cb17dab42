// SPDX-License-Identifier: Apache-2.0
#include "selection/display/summary_names.hpp"

#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "selection/algorithms/judge_vetoes.hpp"
#include "selection/trigger/line_id.hpp"
#include "selection/trigger/quantity_units.hpp"

namespace l3 {

namespace json = boost::json;

namespace {

std::vector<std::string> counters_in(std::uint32_t mask, const loaded_selection* selection) {
  std::vector<std::string> names;
  for (std::size_t n = 0; n < max_vetoes; ++n) {
    if ((mask >> n & 1) == 0) continue;
    const bool known = selection != nullptr && n < selection->what.vetoes().size();
    names.push_back(known ? selection->what.vetoes()[n].name : fmt::format("counter {}", n));
  }
  if ((mask & trigger_unknown) != 0) names.emplace_back("trigger");
  if ((mask & calorimeter_unknown) != 0) names.emplace_back("calorimeter");
  return names;
}

/// "photon_energy 431.2 MeV, below 500".
std::string out_of_range(const line_entry& line, quantity what, std::int32_t value) {
  const quantity_unit unit = unit_of(what);
  const std::string name(name_of(what));
  if (value == undefined_quantity) return name + " is not defined";
  std::string has =
      fmt::format("{} {:g}{}{}", name, value / unit.steps, unit.name.empty() ? "" : " ", unit.name);
  for (std::uint32_t k = 0; k < line.ranges; ++k) {
    const range_entry& range = line.range[k];
    if (range.what != what) continue;
    if (range.from == range.to) return fmt::format("{}, not {:g}", has, range.to / unit.steps);
    if (value < range.from) return fmt::format("{}, below {:g}", has, range.from / unit.steps);
    if (value > range.to) return fmt::format("{}, above {:g}", has, range.to / unit.steps);
  }
  return has;
}

/// The stored reason, with what the selection's line asks for and the event lacks.
std::string reason_with_values(const summary_view& s, std::uint8_t reason, const line_entry& line,
                               const loaded_selection& by) {
  const auto counters = [&](std::uint32_t mask) {
    return fmt::format("{}", fmt::join(counters_in(mask, &by), ", "));
  };
  const auto bits = [](unsigned mask) {
    return fmt::format("{}", fmt::join(names_of_trigger(mask), " or "));
  };
  switch (reason) {
  case line_trigger:
    return (line.trigger_none & s.head.trigger) != 0
               ? "trigger is " + bits(line.trigger_none & s.head.trigger)
               : "trigger is not " + bits(line.trigger_any);
  case line_veto: return "veto by " + counters(line.vetoes_off & s.head.vetoes);
  case line_veto_missing: return "no hit in " + counters(line.vetoes_on & ~s.head.vetoes);
  case line_unknown: return counters(s.head.unknown) + " unknown";
  case line_prescale: return fmt::format("prescale: keeps one in {}", line.prescale);
  case line_decodable: return "all of the event can be decoded";
  case line_not_judged: return "not judged, because the event is overfull";
  case line_not_overfull: return "the event is not overfull";
  default: break;
  }
  const std::size_t which = reason - std::size_t{line_out_of_range};
  return which < s.quantities.size()
             ? out_of_range(line, static_cast<quantity>(which), s.quantities[which])
             : name_of_reason(reason);
}

} // namespace

std::string name_of_line(std::uint32_t id, const loaded_selection* selection) {
  if (selection != nullptr)
    for (const std::string& name : selection->line_names())
      if (line_id(name) == id) return name;
  return fmt::format("line {:#010x}", id);
}

std::vector<std::string> names_of_trigger(std::uint32_t bits) {
  std::vector<std::string> names;
  for (unsigned bit = 0; bit < 14; ++bit) {
    if ((bits >> bit & 1) == 0) continue;
    std::string name = fmt::format("bit {}", bit);
    for (const trigger_name& known : trigger_names)
      if (known.bit == 1U << bit) name = known.name;
    names.push_back(std::move(name));
  }
  return names;
}

named_summary name_summary(const summary_view& s, const loaded_selection* selection) {
  named_summary named;
  named.same_settings =
      selection != nullptr && selection->tables.constants.settings == s.head.settings;
  for (std::size_t n = 0; n < s.lines.size(); ++n) {
    const bool known = n < s.reasons.size() && s.reasons[n] != line_fired;
    named.lines.push_back({name_of_line(s.lines[n].id, selection), s.lines[n].prescale,
                           (s.head.fired >> n & 1) != 0, (s.head.kept_by >> n & 1) != 0,
                           known ? name_of_reason(s.reasons[n]) : "", ""});
    named_line& line = named.lines.back();
    line.why = known && named.same_settings && n < selection->tables.lines.size()
                   ? reason_with_values(s, s.reasons[n], selection->tables.lines[n], *selection)
                   : line.reason;
  }
  named.trigger = names_of_trigger(s.head.trigger);
  named.vetoes = counters_in(s.head.vetoes, selection);
  named.unknown = counters_in(s.head.unknown, selection);
  for (const veto_hit_summary& h : s.hits) {
    const auto names = h.counter < max_vetoes ? counters_in(1U << h.counter, selection)
                                              : std::vector<std::string>{};
    named.hits.push_back({names.empty() ? fmt::format("counter {}", h.counter) : names[0], h});
  }
  if ((s.head.status & too_many_clusters) != 0)
    named.status.emplace_back("overfull: too many clusters");
  if ((s.head.status & too_many_hits) != 0)
    named.status.emplace_back("overfull: too many hits of veto modules");
  if ((s.head.status & more_photons) != 0)
    named.status.emplace_back("more photons than the summary lists");
  if ((s.head.status & recorded) != 0)
    named.status.emplace_back("recorded: no line kept it, and the selection records all");
  return named;
}

namespace {

json::array list_of(const std::vector<std::string>& words) {
  return json::array(words.begin(), words.end());
}

/// Whether a hit fires its counter alone, or together with its neighbours.
bool counts(const veto_hit_summary& h, std::int32_t time, const host_tables& tables) {
  if (h.counter >= tables.vetoes.size()) return false;
  const veto_entry& veto = tables.vetoes[h.counter];
  hits::columns::value hit{};
  hit.energy = h.energy;
  hit.time = h.time;
  hit.module = static_cast<std::uint16_t>(veto.first_module + h.module);
  return judge_vetoes::counts(veto, hit, time);
}

} // namespace

json::object summary_json(const summary_view& s, const loaded_selection* selection) {
  const named_summary named = name_summary(s, selection);
  json::array lines;
  for (std::size_t n = 0; n < named.lines.size(); ++n) {
    const named_line& line = named.lines[n];
    const bool refused = !line.reason.empty();
    lines.push_back(json::object{{"line", line.name},
                                 {"id", s.lines[n].id},
                                 {"prescale", line.prescale},
                                 {"fired", line.fired},
                                 {"kept", line.kept},
                                 {"refused", refused ? json::value(line.reason) : json::value()},
                                 {"why", refused ? json::value(line.why) : json::value()}});
  }
  json::object values;
  for (std::size_t q = 0; q < s.quantities.size(); ++q)
    values[name_of(static_cast<quantity>(q))] =
        s.quantities[q] == undefined_quantity ? json::value(nullptr) : json::value(s.quantities[q]);
  json::array photons;
  for (const photon_summary& p : s.photons)
    photons.push_back(json::object{
        {"energy", p.energy}, {"x", p.x}, {"y", p.y}, {"time", p.time}, {"crystals", p.crystals}});
  json::array hits;
  for (const named_hit& h : named.hits) {
    json::object hit{{"counter", h.counter},
                     {"module", h.hit.module},
                     {"energy", h.hit.energy},
                     {"time", h.hit.time}};
    if (selection != nullptr)
      hit["counts"] = counts(h.hit, s.value(quantity::event_time), selection->tables);
    hits.push_back(std::move(hit));
  }
  return {{"settings", fmt::format("{:08x}", s.head.settings)},
          {"names_are_of_these_settings", named.same_settings},
          {"trigger", list_of(named.trigger)},
          {"status", list_of(named.status)},
          {"vetoes", list_of(named.vetoes)},
          {"unknown", list_of(named.unknown)},
          {"lines", std::move(lines)},
          {"quantities", std::move(values)},
          {"photons_found", s.head.photons_found},
          {"photons", std::move(photons)},
          {"hits", std::move(hits)}};
}

} // namespace l3
