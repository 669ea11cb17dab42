// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/event_report.hpp"

#include <fmt/format.h>

#include "selection/trigger/line_id.hpp"

namespace l3 {
namespace {

std::vector<std::string> counters_in(std::uint32_t mask, const loaded_selection* selection) {
  std::vector<std::string> names;
  for (std::size_t n = 0; n < max_vetoes; ++n) {
    if ((mask >> n & 1) == 0) continue;
    const bool known = selection != nullptr && n < selection->what.vetoes().size();
    names.push_back(known ? selection->what.vetoes()[n].name : fmt::format("counter {}", n));
  }
  return names;
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
  for (std::size_t n = 0; n < s.lines.size(); ++n) {
    const bool known = n < s.reasons.size() && s.reasons[n] != line_fired;
    named.lines.push_back({name_of_line(s.lines[n].id, selection), s.lines[n].prescale,
                           (s.head.fired >> n & 1) != 0, (s.head.kept_by >> n & 1) != 0,
                           known ? name_of_reason(s.reasons[n]) : ""});
  }
  named.trigger = names_of_trigger(s.head.trigger);
  named.vetoes = counters_in(s.head.vetoes, selection);
  named.unknown = counters_in(s.head.unknown & ~(trigger_unknown | calorimeter_unknown), selection);
  for (const veto_hit_summary& h : s.hits) {
    const auto names = h.counter < max_vetoes ? counters_in(1U << h.counter, selection)
                                              : std::vector<std::string>{};
    named.hits.push_back({names.empty() ? fmt::format("counter {}", h.counter) : names[0], h});
  }
  if ((s.head.unknown & trigger_unknown) != 0) named.unknown.emplace_back("trigger");
  if ((s.head.unknown & calorimeter_unknown) != 0) named.unknown.emplace_back("calorimeter");
  if ((s.head.status & too_many_clusters) != 0)
    named.status.emplace_back("overfull: too many clusters");
  if ((s.head.status & too_many_hits) != 0)
    named.status.emplace_back("overfull: too many hits of veto modules");
  if ((s.head.status & more_photons) != 0)
    named.status.emplace_back("more photons than the summary lists");
  if ((s.head.status & recorded) != 0)
    named.status.emplace_back("recorded: no line kept it, and the selection records all");
  named.same_settings =
      selection != nullptr && selection->tables.constants.settings == s.head.settings;
  return named;
}

} // namespace l3
