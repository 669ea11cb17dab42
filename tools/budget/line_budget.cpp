// SPDX-License-Identifier: Apache-2.0
#include "tools/budget/line_budget.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace l3 {
namespace {

constexpr double off = std::numeric_limits<double>::infinity();

/// What is kept of an event: the payload, and the rounding of its samples.
struct kept_as {
  std::size_t payload;
  std::size_t rounding;
};

/// How likely it is that no line gives the event one of the first payloads, so many, nor one of the
/// first roundings.
double chance_of_none(const budget_event& e, std::span<const budget_line> menu,
                      std::size_t payloads, std::size_t roundings) {
  double none = 1;
  for (std::size_t n = 0; n < menu.size(); ++n) {
    if ((e.fired >> n & 1) == 0) continue;
    const budget_line& line = menu[n];
    const bool as_usual = static_cast<std::size_t>(line.payload) < payloads ||
                          (has_samples(line.payload) && line.rounding < roundings);
    const bool for_control = payloads + roundings != 0 && line.control != 0;
    none *= 1 - (as_usual ? 1 : for_control ? 1.0 / line.control : 0) / line.prescale;
  }
  return none;
}

/// Calls add(what is kept, chance) for all that may become of the event; the chances add up to that
/// of its being kept.
template <class Add>
void for_each_chance(const budget_event& e, std::span<const budget_line> menu,
                     std::size_t roundings, const Add& add) {
  if (e.fired == 0) return add(kept_as{0, 0}, 1.0);
  for (std::size_t p = 0; p < event_payloads; ++p) {
    if (!has_samples(static_cast<event_payload>(p))) {
      // Then no line has samples, so that none has a rounding.
      add(kept_as{p, 0},
          chance_of_none(e, menu, p, roundings) - chance_of_none(e, menu, p + 1, roundings));
      continue;
    }
    for (std::size_t r = 0; r < roundings; ++r)
      add(kept_as{p, r}, chance_of_none(e, menu, p, r) - chance_of_none(e, menu, p + 1, r) -
                             chance_of_none(e, menu, p, r + 1) +
                             chance_of_none(e, menu, p + 1, r + 1));
  }
}

template <class Add>
void for_each_chance(const budget& b, std::span<const budget_line> menu, const Add& add) {
  for (const budget_event& e : b.events)
    for_each_chance(e, menu, b.roundings.size(), [&](kept_as as, double chance) {
      const std::uint32_t bytes = e.bytes[as.rounding][as.payload];
      add(e, as, chance / b.spills(), chance * bytes / b.spills());
    });
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
  for_each_chance(b, menu, [&](const budget_event&, kept_as, double events, double bytes) {
    sum.events += events;
    sum.bytes += bytes;
  });
  return sum;
}

std::vector<budget_sum> expected_by_kind(const budget& b) {
  std::vector<budget_sum> sums(b.kinds.size());
  for_each_chance(b, b.lines, [&](const budget_event& e, kept_as, double events, double bytes) {
    sums[e.kind].events += events;
    sums[e.kind].bytes += bytes;
  });
  return sums;
}

std::array<budget_sum, event_payloads> expected_by_payload(const budget& b) {
  std::array<budget_sum, event_payloads> sums{};
  for_each_chance(b, b.lines, [&](const budget_event&, kept_as as, double events, double bytes) {
    sums[as.payload].events += events;
    sums[as.payload].bytes += bytes;
  });
  return sums;
}

std::vector<budget_sum> expected_by_rounding(const budget& b) {
  std::vector<budget_sum> sums(b.roundings.size());
  for_each_chance(b, b.lines, [&](const budget_event&, kept_as as, double events, double bytes) {
    sums[as.rounding].events += events;
    sums[as.rounding].bytes += bytes;
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
    alone[line] = {b.lines[line].name, 1, static_cast<event_payload>(p), 0, b.lines[line].rounding};
    cost.whole[p] = expected(of_line, alone);
    alone[line].rounding = 0;
    cost.exact[p] = expected(of_line, alone);
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
