// SPDX-License-Identifier: Apache-2.0
#include "tools/histograms/histogram_table.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "tools/print.hpp"
#include "transport/histograms/moments.hpp"

namespace l3 {
namespace {

std::string with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : name + ", " + unit;
}

void add_histograms(std::string& text, const std::vector<named_histogram>& all) {
  for (const named_histogram& h : all) {
    const moments m = moments_of(h);
    append(text, "{:<28} {:>10} {:>10.4g} {:>10.4g} {:>8} {:>8}\n", with_unit(h.name, h.unit),
           m.entries, m.mean, m.rms, h.counts.front(), h.counts.back());
  }
}

using property = std::optional<double> (*)(const channel_sums&);

/// The minimum, median and maximum over all inputs with a value.
void add_inputs(std::string& text, const char* name, const shown_histograms& h, property of) {
  std::vector<double> values;
  for (const channel_sums& c : h.channels)
    if (const auto v = of(c)) values.push_back(*v);
  if (values.empty()) return append(text, "{:<28} {:>10}\n", name, 0);
  std::ranges::sort(values);
  append(text, "{:<28} {:>10} {:>10.4g} {:>10.4g} {:>10.4g}\n", name, values.size(), values.front(),
         values[values.size() / 2], values.back());
}

void add_crates(std::string& text, const std::vector<std::string>& inputs, const char* where) {
  for (const crate_inputs& c : by_crate(inputs))
    append(text, "crate {}: {} input{} {}\n", c.crate, c.inputs, c.inputs == 1 ? "" : "s", where);
}

std::string inputs_of(const run_changes& changes, std::size_t most) {
  const std::size_t inputs = changed_inputs(changes.inputs).size() + changes.only_here.size() +
                             changes.only_in_reference.size();
  if (inputs == 0) return "no input changed since the reference\n";
  std::string text =
      fmt::format("{} input{} changed since the reference\n", inputs, inputs == 1 ? "" : "s");
  add_crates(text, changes.only_here, "not in the reference");
  add_crates(text, changes.only_in_reference, "only in the reference");
  if (changes.inputs.empty()) return text;
  append(text, "\n{:<12} {:<12} {:>10} {:>10}\n", "input", "what", "was", "is");
  for (std::size_t i = 0; i < changes.inputs.size() && i < most; ++i) {
    const channel_change& c = changes.inputs[i];
    append(text, "{:<12} {:<12} {:>10.4g} {:>10.4g} {}\n", c.input, name_of(c.what), c.was, c.is,
           unit_of(c.what));
  }
  if (changes.inputs.size() > most) append(text, "… and {} more\n", changes.inputs.size() - most);
  return text;
}

} // namespace

std::string table_of(const shown_histograms& h) {
  std::string text = fmt::format(
      "run {}, {}: {} events, of {} of them the inputs{}\n", h.run,
      h.spill ? fmt::format("spill {}", *h.spill) : std::string("all spills"), h.events, h.sampled,
      h.left_out == 0 ? "" : fmt::format("; {} events left out for want of room", h.left_out));
  append(text, "\n{:<28} {:>10} {:>10} {:>10} {:>8} {:>8}\n", "histogram", "entries", "mean", "rms",
         "below", "above");
  add_histograms(text, h.histograms);
  add_histograms(text, h.counters);
  append(text, "\n{:<28} {:>10} {:>10} {:>10} {:>10}\n", "by input", "inputs", "least", "middle",
         "greatest");
  add_inputs(text, "pedestal, counts", h, pedestal_of);
  add_inputs(text, "noise, counts rms", h, noise_of);
  add_inputs(text, "occupancy", h, occupancy_of);
  add_inputs(text, "mean time, ns", h, mean_time_of);
  return text;
}

std::string table_of(const run_changes& changes, std::size_t most) {
  std::string text = inputs_of(changes, most);
  if (!changes.inputs.empty()) text += "\n";
  if (changes.histograms.empty())
    return text + "no histogram of events changed since the reference\n";
  const std::size_t number = changes.histograms.size();
  append(text,
         "{} histogram{} of events changed since the reference\n\n{:<28} {:>10} {:>10} {:>10}\n",
         number, number == 1 ? "" : "s", "histogram", "mean was", "is", "distance");
  for (const histogram_change& c : changes.histograms)
    append(text, "{:<28} {:>10.4g} {:>10.4g} {:>10.2f}\n", with_unit(c.name, c.unit), c.was, c.is,
           c.distance);
  return text;
}

} // namespace l3
