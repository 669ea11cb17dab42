// SPDX-License-Identifier: Apache-2.0
#include "transport/histograms/addition.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "transport/histograms/comparison.hpp"

namespace l3 {
namespace {

bool have_other_names(const std::vector<named_histogram>& a,
                      const std::vector<named_histogram>& b) {
  return !std::ranges::equal(a, b, {}, &named_histogram::name, &named_histogram::name);
}

std::string why_not(const shown_histograms& a, const shown_histograms& b) {
  if (a.run != b.run) return fmt::format("they are of runs {} and {}", a.run, b.run);
  if (a.settings != b.settings)
    return fmt::format("settings {} decided the events of one and {} those of the other",
                       a.settings, b.settings);
  if (a.one_in != b.one_in)
    return fmt::format("the inputs of one event in {} and in {} were looked at", a.one_in,
                       b.one_in);
  if (a.inputs != b.inputs) return "they are of other inputs";
  if (have_other_names(a.histograms, b.histograms) || have_other_names(a.counters, b.counters))
    return "they have other histograms";
  const auto difference = other_binning(a, b);
  return difference ? difference->text : "";
}

void add(std::vector<named_histogram>& to, const std::vector<named_histogram>& more) {
  for (std::size_t n = 0; n < to.size(); ++n)
    for (std::size_t i = 0; i < to[n].counts.size(); ++i) to[n].counts[i] += more[n].counts[i];
}

} // namespace

std::string add(shown_histograms& to, const shown_histograms& more) {
  if (std::string why = why_not(to, more); !why.empty()) return why;
  if (to.node != more.node) to.node.reset();
  if (to.spill != more.spill) to.spill.reset();
  to.events += more.events;
  to.sampled += more.sampled;
  to.left_out += more.left_out;
  for (std::size_t i = 0; i < to.channels.size(); ++i) to.channels[i] += more.channels[i];
  add(to.histograms, more.histograms);
  add(to.counters, more.counters);
  return "";
}

} // namespace l3
