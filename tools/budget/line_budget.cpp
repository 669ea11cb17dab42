// SPDX-License-Identifier: Apache-2.0
#include "tools/budget/line_budget.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace l3 {
namespace {

constexpr double off = std::numeric_limits<double>::infinity();

/// How likely the event has each payload in the end; the sum is how likely it is kept.
std::array<double, event_payloads> chances(const budget_event& e,
                                           std::span<const budget_line> menu) {
  std::array<double, event_payloads> chance{};
  if (e.fired == 0) {
    chance[0] = 1;
    return chance;
  }
  double none_before = 1; // that no line gives it this payload, or more
  for (std::size_t p = 0; p < event_payloads; ++p) {
    double none = 1;
    for (std::size_t n = 0; n < menu.size(); ++n) {
      if ((e.fired >> n & 1) == 0) continue;
      const budget_line& line = menu[n];
      const bool as_usual = static_cast<std::size_t>(line.payload) <= p;
      const double gives = as_usual ? 1 : line.control == 0 ? 0 : 1.0 / line.control;
      none *= 1 - gives / line.prescale;
    }
    chance[p] = none_before - none;
    none_before = none;
  }
  return chance;
}

template <class Add>
void for_each_chance(const budget& b, std::span<const budget_line> menu, const Add& add) {
  for (const budget_event& e : b.events) {
    const auto chance = chances(e, menu);
    for (std::size_t p = 0; p < event_payloads; ++p)
      add(e, p, chance[p] / b.spills(), chance[p] * e.bytes[p] / b.spills());
  }
}

/// The x of from … to at which a falling function has this value, if it has it there.
template <class Falling>
std::optional<double> where(const Falling& f, double value, double from, double to) {
  if (f(from) < value || f(to) > value) return std::nullopt;
  constexpr int steps = 60;
  for (int k = 0; k < steps; ++k) {
    const double middle = std::sqrt(from * to);
    (f(middle) > value ? from : to) = middle;
  }
  return to;
}

constexpr double least_factor = 1e-9;
constexpr double most_factor = 1e9;

std::vector<budget_line> multiplied(const budget& b, double factor) {
  std::vector<budget_line> menu = b.lines;
  for (budget_line& line : menu)
    if (line.prescale > 1) line.prescale = std::max(1.0, line.prescale * factor);
  return menu;
}

} // namespace

budget_sum expected(const budget& b, std::span<const budget_line> menu) {
  budget_sum sum;
  for_each_chance(b, menu, [&](const budget_event&, std::size_t, double events, double bytes) {
    sum.events += events;
    sum.bytes += bytes;
  });
  return sum;
}

std::vector<budget_sum> expected_by_kind(const budget& b) {
  std::vector<budget_sum> sums(b.kinds.size());
  for_each_chance(b, b.lines, [&](const budget_event& e, std::size_t, double events, double bytes) {
    sums[e.kind].events += events;
    sums[e.kind].bytes += bytes;
  });
  return sums;
}

std::array<budget_sum, event_payloads> expected_by_payload(const budget& b) {
  std::array<budget_sum, event_payloads> sums{};
  for_each_chance(b, b.lines, [&](const budget_event&, std::size_t p, double events, double bytes) {
    sums[p].events += events;
    sums[p].bytes += bytes;
  });
  return sums;
}

line_cost cost_of(const budget& b, std::size_t line) {
  line_cost cost;
  std::vector<budget_line> alone = b.lines;
  for (std::size_t n = 0; n < alone.size(); ++n)
    if (n != line) alone[n].prescale = off;
  budget of_line = b; // the events of this line alone
  std::erase_if(of_line.events, [&](const budget_event& e) { return (e.fired >> line & 1) == 0; });
  cost.fired = static_cast<double>(of_line.events.size()) / b.spills();
  cost.now = expected(of_line, alone);
  for (std::size_t p = 0; p < event_payloads; ++p) {
    alone[line] = {b.lines[line].name, 1, static_cast<event_payload>(p), 0};
    cost.whole[p] = expected(of_line, alone);
  }
  std::vector<budget_line> menu = b.lines;
  cost.fills = where(
      [&](double prescale) {
        menu[line].prescale = prescale;
        return expected(b, menu).bytes;
      },
      b.link_bytes, 1, most_factor);
  return cost;
}

std::optional<double> filling_factor(const budget& b) {
  return where([&](double factor) { return expected(b, multiplied(b, factor)).bytes; },
               b.link_bytes, least_factor, most_factor);
}

std::vector<budget_line> scaled(const budget& b, double factor) {
  std::vector<budget_line> menu = multiplied(b, factor);
  constexpr double inexact = 1e-6;
  for (budget_line& line : menu) line.prescale = std::ceil(line.prescale - inexact);
  return menu;
}

} // namespace l3
