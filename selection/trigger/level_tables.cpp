// SPDX-License-Identifier: Apache-2.0
#include "selection/trigger/cut_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "selection/trigger/line_id.hpp"

namespace l3 {

namespace {

using input_lists = std::vector<std::vector<std::uint16_t>>; // by input

const counter_settings* settings_of(const selection_settings& s, const std::string& counter) {
  const auto at = std::ranges::find_if(
      s.counters, [&](const counter_settings& c) { return c.name.value == counter; });
  return at == s.counters.end() ? nullptr : &*at;
}

/// Adds the crystals within `steps`; from one crystal to one that touches it is a
/// step.
void add_crystals(input_lists& lists, const detector& d, std::uint32_t steps) {
  const auto& all = d.crystals();
  constexpr double rounding = 0.1; // mm
  const auto touch = [&](const crystal& a, const crystal& b) {
    const double reach = (a.size + b.size) / 2 + rounding;
    return std::abs(a.x - b.x) <= reach && std::abs(a.y - b.y) <= reach;
  };
  std::vector<std::vector<std::size_t>> touching(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (touch(all[i], all[j])) {
        touching[i].push_back(j);
        touching[j].push_back(i);
      }
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::size_t> reached{i};
    for (std::size_t first = 0, step = 0; step < steps; ++step) {
      const std::size_t end = reached.size();
      for (; first < end; ++first)
        for (const std::size_t other : touching[reached[first]])
          if (std::ranges::find(reached, other) == reached.end()) reached.push_back(other);
    }
    for (std::size_t k = 1; k < reached.size(); ++k)
      lists[d.number_of(all[i].at)].push_back(
          static_cast<std::uint16_t>(d.number_of(all[reached[k]].at)));
  }
}

/// The distance of two modules. A barrel is a ring: its last module touches the first.
std::uint32_t places_between(const veto& v, std::uint32_t one, std::uint32_t other) {
  const std::uint32_t apart = one > other ? one - other : other - one;
  const bool ring = v.shape.form == veto_shape::kind::barrel;
  return ring ? std::min(apart, v.modules - apart) : apart;
}

/// Adds the other end of each module, and the modules within a number of places.
void add_modules(input_lists& lists, const detector& d, const selection_settings& s) {
  for (const auto& v : d.vetoes()) {
    const counter_settings* const own = settings_of(s, v.name);
    const std::uint32_t steps =
        own != nullptr && own->kept_neighbours ? *own->kept_neighbours : s.suppression.neighbours;
    for (std::uint32_t n = 0; n < v.inputs.size(); ++n) {
      for (std::uint32_t other = 0; other < v.inputs.size(); ++other)
        if (other != n && places_between(v, n / v.ends, other / v.ends) <= steps)
          lists[d.number_of(v.inputs[n])].push_back(
              static_cast<std::uint16_t>(d.number_of(v.inputs[other])));
    }
  }
}

bool is_exempt(const detector& d, const element& e, const suppression_settings& s) {
  if (e.what == element::kind::none) return false;
  const std::string_view counter =
      e.what == element::kind::crystal ? calorimeter_inputs : d.vetoes()[e.index].name;
  return std::ranges::any_of(
      s.exempt, [&](const setting<std::string>& name) { return name.value == counter; });
}

/// Pedestal and noise in the units of pulses, 1/4 and 1/256 count; the factors in 1/256.
input_levels levels_of(const channel_calibration& c, const suppression_settings& s) {
  constexpr std::int64_t one = 65536; // steps of a count
  const std::int64_t most = l2::payload_mask;
  const auto pedestal = static_cast<std::int64_t>(std::llround(c.pedestal * 4)) * (one / 4);
  const auto noise = static_cast<std::int64_t>(std::llround(c.noise * 256));
  const auto away = [&](double sigmas) {
    return noise * static_cast<std::int64_t>(std::llround(sigmas * 256));
  };
  const auto clamped = [most](std::int64_t sample) {
    return static_cast<std::uint16_t>(std::clamp<std::int64_t>(sample, 0, most));
  };
  input_levels l;
  if (noise == 0) return l; // unknown
  const std::int64_t lowest = pedestal - away(s.sigma);
  l.low = clamped(lowest > 0 ? (lowest + one - 1) / one : 0);
  l.high = clamped((pedestal + away(s.sigma)) / one);
  l.seed = c.dead ? l.seed : clamped((pedestal + away(s.seed_sigma) + one - 1) / one);
  return l;
}

} // namespace

level_tables make_level_tables(const detector& d, const calibration& c,
                               const selection_settings& settings) {
  const auto& s = settings.suppression;
  input_lists lists(d.input_count());
  if (s.neighbours != 0) add_crystals(lists, d, s.neighbours);
  add_modules(lists, d, settings);
  level_tables t;
  fnv1a hash;
  for (std::uint32_t n = 0; n < d.input_count(); ++n) {
    input_levels& l = t.levels.emplace_back(levels_of(c[n], s));
    if (is_exempt(d, d.at(n), s)) {
      l.low = input_levels{}.low;
      l.high = input_levels{}.high;
    }
    l.first_neighbour = static_cast<std::uint32_t>(t.kept_with.size());
    hash.add(l.low);
    hash.add(l.high);
    hash.add(l.seed);
    hash.add(l.first_neighbour);
    t.kept_with.insert(t.kept_with.end(), lists[n].begin(), lists[n].end());
  }
  t.levels.emplace_back().first_neighbour = static_cast<std::uint32_t>(t.kept_with.size());
  for (const std::uint16_t input : t.kept_with) hash.add(input);
  t.hash = std::max(hash.value(), std::uint32_t{1});
  return t;
}

neighbour_table find_neighbours(std::vector<crystal_entry> crystals, std::int32_t reach) {
  neighbour_table table{std::move(crystals), {}};
  for (std::size_t i = 0; i < table.crystals.size(); ++i) {
    crystal_entry& mine = table.crystals[i];
    mine.first_neighbour = static_cast<std::uint32_t>(table.neighbours.size());
    for (std::size_t j = 0; j < i; ++j) {
      const crystal_entry& other = table.crystals[j];
      if (std::abs(mine.x - other.x) <= reach && std::abs(mine.y - other.y) <= reach)
        table.neighbours.push_back(static_cast<std::uint16_t>(j));
    }
  }
  crystal_entry& behind = table.crystals.emplace_back();
  behind.first_neighbour = static_cast<std::uint32_t>(table.neighbours.size());
  return table;
}

} // namespace l3
