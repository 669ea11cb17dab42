// SPDX-License-Identifier: Apache-2.0
#include "tools/histograms/histogram_table.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace l3 {
namespace {

struct moments {
  std::uint64_t entries = 0; ///< within the bins
  double mean = 0;
  double rms = 0;
};

moments moments_of(const named_histogram& h) {
  moments m;
  double sum = 0;
  double squares = 0;
  for (std::size_t k = 0; k < h.bins(); ++k) {
    const auto n = static_cast<double>(h.counts[k + 1]);
    const double middle = h.low + h.width * (static_cast<double>(k) + 0.5);
    m.entries += h.counts[k + 1];
    sum += n * middle;
    squares += n * middle * middle;
  }
  if (m.entries == 0) return m;
  const auto n = static_cast<double>(m.entries);
  m.mean = sum / n;
  m.rms = std::sqrt(std::max(0.0, squares / n - m.mean * m.mean));
  return m;
}

template <class... Args>
void append(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

void add_histograms(std::string& text, const std::vector<named_histogram>& all) {
  for (const named_histogram& h : all) {
    const moments m = moments_of(h);
    const std::string name = h.unit.empty() ? h.name : h.name + ", " + h.unit;
    append(text, "{:<28} {:>10} {:>10.4g} {:>10.4g} {:>8} {:>8}\n", name, m.entries, m.mean, m.rms,
           h.counts.front(), h.counts.back());
  }
}

using property = std::optional<double> (*)(const channel_sums&);

/// The least, the middle and the greatest value of all inputs that have one.
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
  if (changes.none()) return "no input changed since the reference\n";
  const std::size_t inputs = changed_inputs(changes.inputs).size() + changes.only_here.size() +
                             changes.only_in_reference.size();
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

} // namespace l3
