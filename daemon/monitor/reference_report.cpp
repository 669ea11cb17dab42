// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/reference_report.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/monitor/first_names.hpp"
#include "transport/histograms/comparison.hpp"

namespace l3 {
namespace {

constexpr std::size_t most_inputs_named = 8;

std::string in_short(const std::vector<std::string>& inputs) {
  if (inputs.size() <= most_inputs_named) return first_names(inputs);
  std::vector<std::string> crates;
  std::vector<crate_inputs> counts = by_crate(inputs);
  std::ranges::stable_sort(counts, std::ranges::greater(), &crate_inputs::inputs);
  for (const crate_inputs& c : counts)
    crates.push_back(fmt::format("{} of crate {}", c.inputs, c.crate));
  return first_names(crates);
}

} // namespace

reference_report report_of(const std::vector<channel_change>& changes) {
  const std::vector<std::string> inputs = changed_inputs(changes);
  if (inputs.empty()) return {};
  std::set<channel_property> properties;
  for (const channel_change& c : changes) properties.insert(c.what);
  std::vector<std::string_view> what;
  for (const channel_property p : properties) what.push_back(name_of(p));
  return {inputs.size(), fmt::format("{} ({})", in_short(inputs), fmt::join(what, ", "))};
}

std::optional<std::string> change_lines::look(std::uint64_t number, const std::string& which) {
  const bool over = number == 0 && told_ != 0;
  if (!over && (number == 0 || number < 2 * told_)) return std::nullopt;
  told_ = number;
  if (over) return begin_ + ": none is any more";
  return fmt::format("{}: {} since the reference {}: {}", begin_, number, reference_, which);
}

} // namespace l3
