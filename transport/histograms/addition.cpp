// SPDX-License-Identifier: Apache-2.0
#include "transport/histograms/addition.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
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

/// Returns false if the sum overflows; then `to` is invalid.
template <class Number>
[[nodiscard]] bool add_fits(Number& to, Number more) {
  return !__builtin_add_overflow(to, more, &to);
}

[[nodiscard]] bool add_fits(channel_sums& to, const channel_sums& more) {
  return add_fits(to.time, more.time) && std::ranges::all_of(sum_columns, [&](const sum_column& c) {
           return add_fits(to.*c.of, more.*c.of);
         });
}

[[nodiscard]] bool add_fits(std::vector<named_histogram>& to,
                            const std::vector<named_histogram>& more) {
  for (std::size_t n = 0; n < to.size(); ++n)
    for (std::size_t i = 0; i < to[n].counts.size(); ++i)
      if (!add_fits(to[n].counts[i], more[n].counts[i])) return false;
  return true;
}

[[nodiscard]] bool add_fits(shown_histograms& to, const shown_histograms& more) {
  if (!add_fits(to.events, more.events) || !add_fits(to.sampled, more.sampled) ||
      !add_fits(to.left_out, more.left_out))
    return false;
  for (std::size_t i = 0; i < to.channels.size(); ++i)
    if (!add_fits(to.channels[i], more.channels[i])) return false;
  return add_fits(to.histograms, more.histograms) && add_fits(to.counters, more.counters);
}

} // namespace

std::string add(shown_histograms& to, const shown_histograms& more) {
  if (std::string why = why_not(to, more); !why.empty()) return why;
  shown_histograms sum = to;
  if (!add_fits(sum, more)) return "a sum of theirs does not fit 64 bits: one of them is damaged";
  to = std::move(sum);
  if (to.node != more.node) to.node.reset();
  if (to.spill != more.spill) to.spill.reset();
  return "";
}

} // namespace l3
