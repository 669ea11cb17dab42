// SPDX-License-Identifier: Apache-2.0
// compute_quantities: one block per event finds which clusters are photons, lists the photons of
// highest energy, and computes the quantities on which lines may cut. transport/format/summary.hpp
// names the quantities, docs/selection.md has their formulas. The kernel sets the rest of the
// summary to zero; `decide` fills it.
//
// A quantity that an event lacks, such as the distance of photons in an event of one photon, is
// undefined. A value that does not fit 32 bits becomes the largest number that does.
#pragma once

#include <cstdint>
#include <string_view>

#include "gpu/executors/block.hpp"
#include "selection/algorithms/rounding.hpp"
#include "selection/algorithms/vertex.hpp"
#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"

namespace l3 {

struct compute_quantities {
  static constexpr std::string_view name = "compute_quantities";
  static constexpr blocks_for run_for = blocks_for::event;
  using reads = slot_list<clusters, calorimeter>;
  using writes = slot_list<summaries>;

  static constexpr std::uint32_t width = 32; // on a device
  static constexpr std::uint32_t max_clusters = clusters::max_clusters;

  struct shared {
    std::int64_t nearest[max_clusters];  // squared distance from a photon to the nearest before it
    std::int32_t energy[max_clusters];   // energy as a photon; 0 if the cluster is no photon
    photon_summary photon[max_clusters]; // by falling energy
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const selection_frame& frame,
                        const clusters::columns::const_view& cluster,
                        const calorimeter::columns::const_view& all,
                        const summaries::columns::view& summary) const {
    const std::uint32_t e = b.index();
    const std::uint32_t found = all.clusters[e];
    const std::uint32_t n = found < max_clusters ? found : max_clusters;
    const selection_constants& cut = frame.tables.constants;
    event_summary& out = summary.all[e];

    for_each(b, n, [&](std::uint32_t k) {
      const auto one = cluster[max_clusters * e + k];
      const std::int32_t energy = photon_energy(one.energy, cut);
      const bool is_photon =
          energy > 0 && energy >= cut.photon_threshold && is_in_time(cut, one.time, all.time[e]);
      s.energy[k] = is_photon ? energy : 0;
    });
    clear(b, out);
    b.sync();
    std::uint32_t photons = 0;
    for (std::uint32_t k = 0; k < n; ++k) photons += s.energy[k] != 0 ? 1 : 0;
    list_photons(b, s, cluster, e, n);
    b.sync();
    measure_distances(b, s, photons);
    b.sync();
    const std::uint32_t listed = photons < max_summary_photons ? photons : max_summary_photons;
    for_each(b, listed, [&](std::uint32_t k) { out.photon[k] = s.photon[k]; });
    for_each(b, 1, [&](std::uint32_t) {
      out.photons_found = static_cast<std::uint16_t>(photons);
      out.photons = static_cast<std::uint8_t>(listed);
      out.status = static_cast<std::uint8_t>((found > max_clusters ? too_many_clusters : 0) |
                                             (photons > listed ? more_photons : 0));
      for (std::int32_t& q : out.quantity) q = undefined_quantity;
      const auto set = [&](quantity q, std::int32_t value) {
        out.quantity[static_cast<std::uint32_t>(q)] = value;
      };
      set(quantity::calorimeter_energy, all.energy[e]);
      set(quantity::crystals, all.crystals[e]);
      set(quantity::clusters, all.clusters[e]);
      set(quantity::photons, static_cast<std::int32_t>(photons));
      set(quantity::event_time, all.time[e]);
      if (photons >= 1) describe_each(s, photons, set);
      if (photons >= 2) describe_spread(s, photons, set);
      if (photons == 2) describe_pair(s, cut.front, set);
    });
  }

  /// Returns the promise that the output breaks; nullptr if it keeps all.
  static const char* broken_promise(const selection_frame& frame,
                                    const clusters::columns::const_view&,
                                    const calorimeter::columns::const_view& all,
                                    const summaries::columns::const_view& summary) {
    for (std::uint32_t e = 0; e < frame.batch.events.size(); ++e) {
      const event_summary one = summary[e].all;
      if (one.photons > max_summary_photons || one.photons > one.photons_found)
        return "more photons are listed than there are places or photons";
      if (one.photons_found > all.clusters[e]) return "more photons than clusters";
      if (((one.status & too_many_clusters) != 0) != (all.clusters[e] > max_clusters))
        return "the status bit of too many clusters is wrong";
      if (((one.status & more_photons) != 0) != (one.photons_found > one.photons))
        return "the list of photons does not say whether it is complete";
      for (std::uint32_t k = 1; k < one.photons; ++k) {
        if (one.photon[k].energy > one.photon[k - 1].energy) return "photons out of order";
      }
      for (std::uint32_t q = 0; q < quantities; ++q) {
        if (one.quantity[q] == undefined_quantity &&
            is_always_defined(static_cast<quantity>(q), one.photons_found))
          return "a quantity that every such event has is undefined";
      }
      if (one.fired != 0 || one.kept_by != 0 || one.kept != 0 || one.lines != 0)
        return "the fields of the decision are not zero";
    }
    return nullptr;
  }

private:
  /// All values of an empty summary are 0. The lanes write words, because AMD's compiler would
  /// build an assigned empty summary in a lane's slow memory.
  template <block B>
  L3_FN static void clear(const B& b, event_summary& summary) {
    constexpr std::uint32_t word = sizeof(std::uint32_t);
    static_assert(sizeof(event_summary) % word == 0 && alignof(event_summary) % word == 0);
    auto* const bytes = aligned<word>(reinterpret_cast<std::byte*>(&summary));
    for_each(b, sizeof(event_summary) / word,
             [&](std::uint32_t k) { store(bytes + k * word, std::uint32_t{0}); });
  }

  [[nodiscard]] static bool is_always_defined(quantity q, std::uint32_t photons) {
    if (q <= quantity::photons || q == quantity::event_time) return true;
    if (q == quantity::photon_distance || q == quantity::photon_time_spread) return photons >= 2;
    return q <= quantity::centre_radius && photons >= 1;
  }

  [[nodiscard]] L3_FN static bool is_in_time(const selection_constants& cut, std::int32_t time,
                                             std::int32_t event_time) {
    const std::int64_t since = std::int64_t{time} - event_time;
    return since >= cut.photon_from && since <= cut.photon_to;
  }

  /// Adds to the cluster's energy the part of its shower in crystals below the threshold.
  [[nodiscard]] L3_FN static std::int32_t photon_energy(std::int32_t cluster,
                                                        const selection_constants& c) {
    constexpr std::uint32_t scale_shift = 16;
    const std::int64_t scaled = std::int64_t{cluster} * c.photon_scale >> scale_shift;
    return limited(scaled + lacking(scaled, c));
  }

  [[nodiscard]] L3_FN static std::int64_t lacking(std::int64_t energy,
                                                  const selection_constants& c) {
    if (c.correction_points == 0) return 0;
    energy_point before = c.correction[0];
    if (energy <= before.energy) return before.lacking;
    for (std::uint32_t k = 1; k < c.correction_points; ++k) {
      const energy_point after = c.correction[k];
      if (energy < after.energy) {
        const std::int64_t rise = std::int64_t{after.lacking} - before.lacking;
        return before.lacking + divide_down((energy - before.energy) * rise,
                                            std::int64_t{after.energy} - before.energy);
      }
      before = after;
    }
    return before.lacking;
  }

  /// The place of a photon is the number of photons with more energy, or with the same energy and a
  /// lower number.
  template <block B>
  L3_FN static void list_photons(const B& b, shared& s,
                                 const clusters::columns::const_view& cluster, std::uint32_t e,
                                 std::uint32_t n) {
    for_each(b, n, [&](std::uint32_t k) {
      const std::int32_t energy = s.energy[k];
      if (energy == 0) return;
      std::uint32_t place = 0;
      for (std::uint32_t j = 0; j < n; ++j) {
        place += s.energy[j] > energy || (s.energy[j] == energy && j < k) ? 1 : 0;
      }
      const auto one = cluster[max_clusters * e + k];
      s.photon[place] = {energy, one.time, one.x, one.y, one.crystals, 0};
    });
  }

  /// Scalar product of two places in the face of the calorimeter.
  [[nodiscard]] L3_FN static std::int64_t product(const photon_summary& k,
                                                  const photon_summary& j) {
    return std::int64_t{k.x} * j.x + std::int64_t{k.y} * j.y;
  }
  [[nodiscard]] L3_FN static std::int64_t distance_squared(const photon_summary& k,
                                                           const photon_summary& j) {
    const std::int64_t dx = std::int64_t{k.x} - j.x;
    const std::int64_t dy = std::int64_t{k.y} - j.y;
    return dx * dx + dy * dy;
  }

  template <block B>
  L3_FN static void measure_distances(const B& b, shared& s, std::uint32_t photons) {
    for_each(b, photons, [&](std::uint32_t k) {
      std::int64_t nearest = INT64_MAX;
      for (std::uint32_t j = 0; j < k; ++j) {
        const std::int64_t d2 = distance_squared(s.photon[k], s.photon[j]);
        nearest = d2 < nearest ? d2 : nearest;
      }
      s.nearest[k] = nearest;
    });
  }

  template <class Set>
  L3_FN static void describe_each(const shared& s, std::uint32_t photons, const Set& set) {
    std::int64_t energy = 0;
    std::int64_t x = 0; // energy-weighted
    std::int64_t y = 0;
    std::int32_t inner = largest_number;
    std::int64_t outer = 0; // squared
    for (std::uint32_t k = 0; k < photons; ++k) {
      const photon_summary& one = s.photon[k];
      energy += one.energy;
      x += std::int64_t{one.energy} * one.x;
      y += std::int64_t{one.energy} * one.y;
      const std::int32_t from_x = one.x < 0 ? -one.x : one.x;
      const std::int32_t from_y = one.y < 0 ? -one.y : one.y;
      const std::int32_t from_axis = from_x > from_y ? from_x : from_y;
      inner = from_axis < inner ? from_axis : inner;
      const std::int64_t r2 = product(one, one);
      outer = r2 > outer ? r2 : outer;
    }
    const std::int64_t centre_x = divide_down(x, energy);
    const std::int64_t centre_y = divide_down(y, energy);
    set(quantity::photon_energy, limited(energy));
    set(quantity::photon_energy_min, s.photon[photons - 1].energy);
    set(quantity::photon_energy_max, s.photon[0].energy);
    set(quantity::photon_inner, inner);
    set(quantity::photon_radius, limited(root_down(outer)));
    set(quantity::centre_radius, limited(root_down(centre_x * centre_x + centre_y * centre_y)));
  }

  template <class Set>
  L3_FN static void describe_spread(const shared& s, std::uint32_t photons, const Set& set) {
    std::int64_t nearest = s.nearest[1];
    std::int32_t first = s.photon[0].time;
    std::int32_t last = first;
    for (std::uint32_t k = 1; k < photons; ++k) {
      const std::int32_t time = s.photon[k].time;
      nearest = s.nearest[k] < nearest ? s.nearest[k] : nearest;
      first = time < first ? time : first;
      last = time > last ? time : last;
    }
    set(quantity::photon_distance, limited(root_down(nearest)));
    set(quantity::photon_time_spread, limited(std::int64_t{last} - first));
  }

  /// The quantities of an event with exactly two photons.
  template <class Set>
  L3_FN static void describe_pair(const shared& s, std::int32_t front, const Set& set) {
    const photon_summary& one = s.photon[0];
    const photon_summary& other = s.photon[1];
    const std::int64_t r1 = product(one, one);
    const std::int64_t r2 = product(other, other);
    if (r1 != 0 && r2 != 0) { // a photon on the axis has no direction
      constexpr double unit = 1000;
      const double lengths =
          std::sqrt(static_cast<double>(r1)) * std::sqrt(static_cast<double>(r2));
      set(quantity::opening, nearest(unit * static_cast<double>(product(one, other)) / lengths));
    }
    const pion_decay decay = find_pion_decay(as_photon(one), as_photon(other));
    if (!decay.found) return;
    set(quantity::vertex_z, nearest(front - decay.distance));
    set(quantity::transverse_momentum, nearest(decay.transverse_momentum));
  }

  [[nodiscard]] L3_FN static photon_at as_photon(const photon_summary& p) {
    return {static_cast<double>(p.energy), static_cast<double>(p.x), static_cast<double>(p.y)};
  }
};

} // namespace l3
