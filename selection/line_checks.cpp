// SPDX-License-Identifier: Apache-2.0
#include "selection/line_checks.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "selection/trigger_names.hpp"

namespace l3 {
namespace {

struct pair_of_quantities {
  quantity lesser; ///< never above …
  quantity greater;
};
constexpr std::array<pair_of_quantities, 6> ordered{{
    {quantity::photon_energy_min, quantity::photon_energy_max},
    {quantity::photon_energy_max, quantity::photon_energy},
    {quantity::photons, quantity::clusters},
    {quantity::clusters, quantity::crystals},
    {quantity::photon_inner, quantity::photon_radius},
    {quantity::centre_radius, quantity::photon_radius},
}};

/// How many photons an event must have to have the quantity.
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

std::string in_quotes(std::string_view name) { return '"' + std::string(name) + '"'; }

class judge {
public:
  explicit judge(const line_settings& line) : line_(line) {}

  void say(const std::string& place, const std::string& what) {
    reasons_.push_back(place + ": line " + in_quotes(line_.name.value) +
                       " can never fire: " + what);
  }

  void triggers() {
    for (const auto& t : trigger_names)
      if ((line_.trigger_any & line_.trigger_none & t.bit) != 0)
        say(line_.name.place, "it wants and refuses the trigger bit " + in_quotes(t.name) +
                                  "; take it out of trigger or of not_trigger");
  }

  void counters() {
    for (const auto& on : line_.fired)
      for (const auto& off : line_.vetoes)
        if (on.value == off.value)
          say(on.place, "counter " + in_quotes(on.value) +
                            " must have fired and must not; take it out of fired or of vetoes");
  }

  void order() {
    for (const auto& [lesser, greater] : ordered) {
      const auto* low = find(line_, lesser);
      const auto* high = find(line_, greater);
      if (low != nullptr && high != nullptr && low->range.from > high->range.to)
        say(low->place, std::string(name_of(lesser)) + " is never above " +
                            std::string(name_of(greater)) + "; let the two ranges overlap");
    }
  }

  void photon_numbers() {
    const auto* photons = find(line_, quantity::photons);
    if (photons == nullptr) return;
    for (const auto& r : line_.ranges) {
      const auto needs = photons_for(r.what);
      if (photons->range.to < needs.from || photons->range.from > needs.to)
        say(r.place, "events with so many photons have no " + std::string(name_of(r.what)) +
                         "; take it out or change photons");
    }
  }

  void photon_cuts(const photon_settings& cuts) {
    const auto* spread = find(line_, quantity::photon_time_spread);
    if (spread != nullptr && spread->range.from > cuts.window.to - cuts.window.from)
      say(spread->place, "photons are at most as far apart as the window for photons is wide; "
                         "lower the range's begin");
    const auto* energy = find(line_, quantity::photon_energy_max);
    if (energy != nullptr && energy->range.to < cuts.threshold)
      say(energy->place, "every photon is above the threshold for photons; raise the range's end");
  }

  std::vector<std::string> take() { return std::move(reasons_); }

private:
  const line_settings& line_;
  std::vector<std::string> reasons_;
};

} // namespace

std::vector<std::string> why_never(const line_settings& line, const photon_settings& photons) {
  judge j(line);
  j.triggers();
  j.counters();
  j.order();
  j.photon_numbers();
  j.photon_cuts(photons);
  return j.take();
}

} // namespace l3
