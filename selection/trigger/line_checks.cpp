// SPDX-License-Identifier: Apache-2.0
#include "selection/trigger/parse_selection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "config/toml/value.hpp"
#include "selection/trigger/line_id.hpp"
#include "selection/trigger/quantity_units.hpp"

namespace l3 {
namespace {

/// In every event with both quantities: lesser ≤ factor × greater + rounding.
struct relation {
  quantity lesser;
  quantity greater;
  double factor = 1;
  double rounding = 0;
};
constexpr double rounded = 0.2; // mm: lengths are rounded to 0.1 mm before they are combined
constexpr double crystals_of_cluster = 2; // or more
constexpr std::array<relation, 6> ordered{{
    {quantity::photon_energy_min, quantity::photon_energy_max},
    {quantity::transverse_momentum, quantity::photon_energy},
    {quantity::clusters, quantity::crystals, 1 / crystals_of_cluster},
    {quantity::photon_inner, quantity::photon_radius},
    {quantity::centre_radius, quantity::photon_radius, 1, rounded},
    {quantity::photon_distance, quantity::photon_radius, 2, rounded},
}};

std::string_view in_words_before(double factor) {
  if (factor > 1) return "twice ";
  return factor < 1 ? "half of " : "";
}

/// The number of photons that an event needs to have the quantity.
interval photons_for(quantity q) {
  constexpr double any = std::numeric_limits<double>::infinity();
  switch (q) {
  case quantity::photon_energy:
  case quantity::photon_energy_min:
  case quantity::photon_energy_max:
  case quantity::photon_inner:
  case quantity::photon_radius:
  case quantity::centre_radius: return {1, any};
  case quantity::photon_distance:
  case quantity::photon_time_spread: return {2, any};
  case quantity::opening:
  case quantity::vertex_z:
  case quantity::transverse_momentum: return {2, 2};
  default: return {0, any};
  }
}

const range_settings* find(const line_settings& line, quantity q) {
  const auto at = std::find_if(line.ranges.begin(), line.ranges.end(),
                               [q](const range_settings& r) { return r.what == q; });
  return at == line.ranges.end() ? nullptr : &*at;
}

/// The number of photons that the ranges of a line allow, and the range that requires the most.
struct photon_demand {
  double least = 0;
  double most = unit_of(quantity::photons).most;
  const range_settings* by = nullptr;
};

photon_demand demand_of(const line_settings& line) {
  photon_demand d;
  for (const auto& r : line.ranges) {
    const auto needs = r.what == quantity::photons ? r.range : photons_for(r.what);
    d.most = std::min(d.most, std::floor(needs.to));
    if (const double least = std::ceil(needs.from); least > d.least) {
      d.least = least;
      d.by = &r;
    }
  }
  return d;
}

class judge {
public:
  judge(const line_settings& line, complaints& wrong)
      : line_(line), wrong_(wrong), photons_(demand_of(line)) {}

  void triggers() {
    for (const auto& t : trigger_names)
      if ((line_.trigger_any & line_.trigger_none & t.bit) != 0)
        say(line_.name.place,
            "it requires and refuses the trigger bit {}; remove it from trigger or from "
            "not_trigger",
            quote(t.name));
  }

  void counters() {
    for (const auto& on : line_.fired)
      for (const auto& off : line_.vetoes)
        if (on.value == off.value)
          say(on.place,
              "counter {} must have fired and must not have fired; remove it from fired or from "
              "vetoes",
              quote(on.value));
  }

  void overfull() {
    if (!line_.overfull) return;
    if (line_.all_vetoes || !line_.vetoes.empty() || !line_.fired.empty() || !line_.ranges.empty())
      say(line_.name.place, "an overfull event has no quantities and no counters; remove its "
                            "ranges, vetoes and fired");
  }

  void order() {
    for (const auto& o : ordered) {
      const auto* low = find(line_, o.lesser);
      const auto* high = find(line_, o.greater);
      if (low != nullptr && high != nullptr &&
          low->range.from > o.factor * high->range.to + o.rounding)
        say(low->place, "{} is never above {}{}; change one of the two ranges", name_of(o.lesser),
            in_words_before(o.factor), name_of(o.greater));
    }
  }

  void photon_numbers() {
    const auto* photons = find(line_, quantity::photons);
    for (const auto& r : line_.ranges) {
      const auto needs = photons_for(r.what);
      if (photons != nullptr && (photons->range.to < needs.from || photons->range.from > needs.to))
        say(r.place, "events with so many photons have no {}; remove it or change photons",
            name_of(r.what));
    }
    at_least(quantity::clusters, photons_.least);
    at_least(quantity::crystals, crystals_of_cluster * photons_.least);
  }

  void photon_cuts(const photon_settings& cuts) {
    const auto* spread = find(line_, quantity::photon_time_spread);
    if (spread != nullptr && spread->range.from > cuts.window.to - cuts.window.from)
      say(spread->place, "photons are at most as far apart as the window for photons is wide; "
                         "lower the range's begin");
    for (const auto q : {quantity::photon_energy_min, quantity::photon_energy_max})
      if (const auto* energy = find(line_, q);
          energy != nullptr && energy->range.to < cuts.threshold)
        say(energy->place,
            "every photon is above the threshold for photons; raise the range's end");
    photon_sum(cuts.threshold);
  }

  /// Compares the ranges with the calorimeter.
  void places(const detector& d) {
    double inner = 0;
    double radius = 0;
    for (const auto& c : d.crystals()) {
      inner = std::max({inner, std::abs(c.x), std::abs(c.y)});
      radius = std::max(radius, std::sqrt(c.x * c.x + c.y * c.y));
    }
    const auto crystals = static_cast<double>(d.crystals().size());
    const double clusters = std::floor(crystals / crystals_of_cluster);
    never_above(quantity::crystals, crystals);
    never_above(quantity::clusters, clusters);
    if (photons_.least > clusters) {
      say(photons_.by->place,
          "in this detector photons is never above {:g}; change or remove the range", clusters);
      return;
    }
    never_above(quantity::photon_inner, inner, rounded);
    never_above(quantity::photon_radius, radius, rounded);
    never_above(quantity::centre_radius, radius, rounded);
    never_above(quantity::photon_distance, 2 * radius, rounded);
    never_above(quantity::vertex_z, d.front());
  }

private:
  template <class... Parts>
  void say(const source_place& place, fmt::format_string<Parts...> what, Parts&&... parts) {
    wrong_.add(place, "line {} can never fire: {}", quote(line_.name.value),
               fmt::format(what, std::forward<Parts>(parts)...));
  }

  [[nodiscard]] std::string its_photons() const {
    return fmt::format("the photons that it asks for, {:g} or more,", photons_.least);
  }

  void at_least(quantity q, double least) {
    if (const auto* r = find(line_, q); r != nullptr && r->range.to < least)
      say(r->place, "{} take at least {:g} {}; raise the range's end", its_photons(), least,
          name_of(q));
  }

  void never_above(quantity q, double most, double rounding = 0) {
    if (const auto* r = find(line_, q); r != nullptr && r->range.from > most + rounding)
      say(r->place, "in this detector {} is never above {:g}; lower the range's begin", name_of(q),
          most);
  }

  /// The lowest photon has its energy, the highest its own, and all others are between.
  void photon_sum(double threshold) {
    const auto* sum = find(line_, quantity::photon_energy);
    if (sum == nullptr) return;
    const auto* min = find(line_, quantity::photon_energy_min);
    const auto* max = find(line_, quantity::photon_energy_max);
    const double each = min == nullptr ? threshold : std::max(threshold, min->range.from);
    const double greatest = max == nullptr ? each : std::max(each, max->range.from);
    const double least = greatest + (photons_.least - 1) * each;
    if (sum->range.to < least)
      say(sum->place, "{} have at least {:g} MeV together; raise the range's end", its_photons(),
          least);
    if (max != nullptr && sum->range.from > photons_.most * max->range.to)
      say(sum->place, "{:g} photons together have at most {:g} MeV; lower the range's begin",
          photons_.most, photons_.most * max->range.to);
  }

  const line_settings& line_;
  complaints& wrong_;
  photon_demand photons_;
};

} // namespace

bool asks_for_photons(const line_settings& line) { return demand_of(line).least > 0; }

void check_line(const line_settings& line, const photon_settings& photons, complaints& wrong) {
  judge j(line, wrong);
  j.triggers();
  j.counters();
  j.overfull();
  j.order();
  j.photon_numbers();
  j.photon_cuts(photons);
}

void check_line(const line_settings& line, const detector& d, complaints& wrong) {
  judge(line, wrong).places(d);
}

} // namespace l3
