// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/sizing.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace l3 {

namespace {

constexpr double gigabyte = 1e9;
/// Beyond, a rate is a mistyped one.
constexpr std::uint32_t most_nodes = 4096;

/// Rates and measured costs may be any numbers.
std::uint64_t so_many(double count) {
  return static_cast<std::uint64_t>(std::min(std::ceil(count), 0x1p53));
}

void place_threads(sizing& s, const cost_table& costs, const sizing_wishes& w) {
  s.node_input = w.rate / s.nodes;
  s.node_output = s.node_input * w.kept / w.ratio;
  s.threads = loads_at(costs, s.node_input, s.node_output);
  s.processors = sum_of(s.threads);
  s.processors_needed = so_many(s.processors / w.headroom);
  s.first_to_saturate.clear();
  s.saturates_at = 0;
  for (const thread_load& t : s.threads) {
    const std::uint32_t most = most_processors(t.cost);
    if (most == 0 || t.cost.seconds_per_gigabyte <= 0) continue;
    const double part = t.cost.input ? 1 : w.kept / w.ratio;
    if (part <= 0) continue;
    const double at =
        (most * w.headroom - t.cost.idle) * gigabyte / (t.cost.seconds_per_gigabyte * part);
    if (s.first_to_saturate.empty() || at < s.saturates_at) {
      s.first_to_saturate = t.cost.name;
      s.saturating_threads = most;
      s.saturates_at = at;
    }
  }
  s.interfaces = so_many(s.node_input / (w.interface * w.headroom));
}

bool suffices(const sizing& s, const sizing_wishes& w) {
  return (s.first_to_saturate.empty() || s.node_input <= s.saturates_at) &&
         (w.processors == 0 || s.processors_needed <= w.processors);
}

void plan_outage(sizing& s, const sizing_wishes& w) {
  const double mean = s.mean_output / s.nodes;
  s.outage_bytes = mean * w.outage;
  s.disk_bytes = std::max(0.0, s.outage_bytes - w.outbox);
  s.disk_rate = s.node_output;
  // What averages leave of a line that is as good as full is chance.
  constexpr double worth_counting = 0.001;
  const double left = w.link / s.nodes - mean;
  if (s.outage_bytes == 0)
    s.drain_seconds = 0;
  else if (left > worth_counting * w.link / s.nodes)
    s.drain_seconds = s.outage_bytes / left;
}

void judge(sizing& s, const sizing_wishes& w) {
  if (!s.first_to_saturate.empty() && s.node_input > s.saturates_at)
    s.not_met.push_back(fmt::format(
        "the {} at {:.2f} GB/s a node, and {:.2f} come",
        s.saturating_threads == 1 ? fmt::format("thread {} saturates", s.first_to_saturate)
                                  : fmt::format("threads of {} saturate", s.first_to_saturate),
        s.saturates_at / gigabyte, s.node_input / gigabyte));
  if (w.processors != 0 && s.processors_needed > w.processors)
    s.not_met.push_back(
        fmt::format("a node has {} processors, and needs {}", w.processors, s.processors_needed));
  if (s.mean_output > w.link)
    s.not_met.push_back(fmt::format(
        "{:.3f} GB/s leave on average, and the line takes {:.3f}: keep less than {:.1f} % of the "
        "events, or compress better",
        s.mean_output / gigabyte, w.link / gigabyte, 100 * w.link * w.ratio / (w.rate * w.duty)));
}

} // namespace

std::vector<thread_load> loads_at(const cost_table& costs, double input, double output) {
  std::vector<thread_load> loads;
  for (const thread_cost& c : costs.threads)
    loads.push_back({c, c.idle + c.seconds_per_gigabyte * (c.input ? input : output) / gigabyte});
  return loads;
}

double sum_of(const std::vector<thread_load>& loads) {
  double sum = 0;
  for (const thread_load& l : loads) sum += l.processors;
  return sum;
}

sizing size_for(const cost_table& costs, const sizing_wishes& wishes) {
  sizing s;
  s.nodes = wishes.nodes.value_or(1);
  place_threads(s, costs, wishes);
  while (!wishes.nodes && !suffices(s, wishes) && s.nodes < most_nodes) {
    ++s.nodes;
    place_threads(s, costs, wishes);
  }
  s.mean_output = wishes.rate * wishes.duty * wishes.kept / wishes.ratio;
  plan_outage(s, wishes);
  judge(s, wishes);
  return s;
}

} // namespace l3
