// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/reference_report.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/words.hpp"
#include "transport/histograms/comparison.hpp"

namespace l3 {
namespace {

constexpr std::size_t most_inputs_named = 8;

std::string in_short(const std::vector<std::string>& inputs) {
  if (inputs.size() <= most_inputs_named) return first_names(inputs);
  std::vector<std::string> crates;
  std::vector<crate_inputs> counts = by_crate(inputs);
  std::ranges::stable_sort(counts, std::ranges::greater(), &crate_inputs::inputs);
  crates.reserve(counts.size());
  for (const crate_inputs& c : counts)
    crates.push_back(fmt::format("{} of crate {}", c.inputs, c.crate));
  return first_names(crates);
}

} // namespace

reference_report report_of(const run_changes& changes) {
  std::set<channel_property> properties;
  for (const channel_change& c : changes.inputs) properties.insert(c.what);
  std::vector<std::string_view> what;
  what.reserve(properties.size());
  for (const channel_property p : properties) what.push_back(name_of(p));
  reference_report report;
  const auto add = [&](const std::vector<std::string>& inputs, const std::string& why) {
    if (inputs.empty()) return;
    report.inputs += inputs.size();
    if (!report.which_inputs.empty()) report.which_inputs += "; ";
    report.which_inputs += fmt::format("{} ({})", in_short(inputs), why);
  };
  add(changed_inputs(changes.inputs), fmt::format("{}", fmt::join(what, ", ")));
  add(changes.only_here, "not in the reference");
  add(changes.only_in_reference, "only in the reference");
  report.histograms = changes.histograms.size();
  for (const histogram_change& c : changes.histograms) {
    const std::string unit = c.unit.empty() ? "" : " " + c.unit;
    if (!report.which_histograms.empty()) report.which_histograms += ", ";
    report.which_histograms +=
        fmt::format("{} (mean {:.4g}{}, now {:.4g}{})", c.name, c.was, unit, c.is, unit);
  }
  return report;
}

} // namespace l3
