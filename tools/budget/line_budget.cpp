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

/// The chances of all that may become of an event, line by line: the most of the payloads, and the
/// least of the roundings, of the lines that keep it. A control sample keeps all, exactly.
class chances {
public:
  explicit chances(const budget& b)
      : least_(b.least), roundings_(b.roundings.size()), of_(states(), 0.0), next_(states()) {
    of_[at(event_payloads, roundings_)] = 1;
  }

  void add(const budget_line& line) {
    const double kept = 1 / line.prescale;
    const double control = line.control == 0 ? 0 : kept / line.control;
    std::ranges::fill(next_, 0.0);
    for (std::size_t p = 0; p <= event_payloads; ++p)
      for (std::size_t r = 0; r <= roundings_; ++r) {
        const double before = of_[at(p, r)];
        if (before == 0) continue;
        next_[at(p, r)] += before * (1 - kept);
        next_[at(0, 0)] += before * control;
        next_[at(std::min(p, static_cast<std::size_t>(line.payload)), with(r, line))] +=
            before * (kept - control);
      }
    of_.swap(next_);
  }

  template <class Add>
  void for_each(const Add& add) const {
    for (std::size_t p = 0; p < event_payloads; ++p)
      for (std::size_t r = 0; r <= roundings_; ++r)
        if (const double chance = of_[at(p, r)]; chance != 0)
          add(kept_as{p, r == roundings_ ? 0 : r}, chance);
  }

private:
  /// The last payload stands for an event that no line has kept so far, the last rounding for one
  /// that no line with samples has.
  [[nodiscard]] std::size_t states() const { return (event_payloads + 1) * (roundings_ + 1); }
  [[nodiscard]] std::size_t at(std::size_t payload, std::size_t rounding) const {
    return payload * (roundings_ + 1) + rounding;
  }
  [[nodiscard]] std::size_t with(std::size_t rounding, const budget_line& line) const {
    if (!has_samples(line.payload)) return rounding;
    return rounding == roundings_ ? line.rounding : least_[rounding][line.rounding];
  }

  const std::vector<std::vector<std::size_t>>& least_;
  std::size_t roundings_;
  std::vector<double> of_;
  std::vector<double> next_;
};

template <class Add>
void for_each_chance(const budget& b, std::span<const budget_line> menu, const Add& add) {
  for (const budget_event& e : b.events) {
    chances of_event(b);
    for (std::size_t n = 0; n < menu.size(); ++n)
      if ((e.fired >> n & 1) != 0) of_event.add(menu[n]);
    if (e.fired == 0) of_event.add({}); // it is always kept, whole
    of_event.for_each([&](kept_as as, double chance) {
      const std::uint32_t bytes = e.bytes[as.rounding][as.payload];
      add(e, as, chance / b.spills(), chance * bytes / b.spills());
    });
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

std::map<std::uint32_t, budget_sum> expected_by_error(const budget& b) {
  std::map<std::uint32_t, budget_sum> sums;
  for (const std::uint32_t error : b.roundings) sums[error];
  for_each_chance(b, b.lines, [&](const budget_event&, kept_as as, double events, double bytes) {
    budget_sum& sum = sums[b.roundings[as.rounding]];
    sum.events += events;
    sum.bytes += bytes;
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
