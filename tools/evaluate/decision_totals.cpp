// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/decision_totals.hpp"
#include "tools/print.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace l3 {

void decision_totals::add(const event_summary& s) {
  ++events;
  kept += s.kept;
  not_judged += (s.status & l3::not_judged) != 0 ? 1 : 0;
  for (std::uint32_t n = 0; n < s.lines; ++n) {
    lines[n].fired += s.fired >> n & 1;
    lines[n].kept += s.kept_by >> n & 1;
    ++lines[n].reasons[s.reason[n]];
  }
}

std::vector<std::pair<std::uint64_t, std::string>>
reasons_by_frequency(std::span<const std::uint64_t> events) {
  std::vector<std::pair<std::uint64_t, std::string>> all;
  for (std::size_t r = 0; r < events.size(); ++r)
    if (r != line_fired && events[r] != 0)
      all.emplace_back(events[r], name_of_reason(static_cast<std::uint8_t>(r)));
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.first > b.first; });
  return all;
}

boost::json::object reasons_to_json(std::span<const std::uint64_t> events) {
  boost::json::object all;
  for (std::size_t r = 0; r < events.size(); ++r)
    if (r != line_fired && events[r] != 0)
      all[name_of_reason(static_cast<std::uint8_t>(r))] = events[r];
  return all;
}

boost::json::array lines_to_json(const decision_totals& t, const loaded_selection& selection) {
  boost::json::array list;
  const auto names = selection.line_names();
  for (std::size_t n = 0; n < t.lines.size(); ++n) {
    list.push_back(boost::json::object{{"line", names[n]},
                                       {"id", selection.tables.lines[n].id},
                                       {"prescale", selection.tables.lines[n].prescale},
                                       {"fired", t.lines[n].fired},
                                       {"kept", t.lines[n].kept},
                                       {"refused", reasons_to_json(t.lines[n].reasons)}});
  }
  return list;
}

void print_totals(const decision_totals& t, const loaded_selection& selection) {
  const auto names = selection.line_names();
  print_plain("{:<16} {:>9} {:>10} {:>10}   reasons of refusal, most frequent first\n", "line",
              "prescale", "fired", "kept");
  for (std::size_t n = 0; n < t.lines.size(); ++n) {
    const line_total& line = t.lines[n];
    std::vector<std::string> texts;
    for (const auto& [count, what] : reasons_by_frequency(line.reasons))
      texts.push_back(fmt::format("{} {}", what, count));
    print_plain("{:<16} {:9} {:10} {:10}   {}\n", names[n], selection.tables.lines[n].prescale,
                line.fired, line.kept, fmt::join(texts, ", "));
  }
  print_plain("{} of {} events kept ({:.2f} %)", t.kept, t.events,
              t.events == 0 ? 0.0
                            : 100.0 * static_cast<double>(t.kept) / static_cast<double>(t.events));
  if (t.not_judged != 0) print_plain("; {} overfull", t.not_judged);
  print_plain("\n");
}

} // namespace l3
