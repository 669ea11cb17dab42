// SPDX-License-Identifier: Apache-2.0
// The results of the selection for an event: one event_summary for every event that it processed,
// kept or not. Each kept event has the packed form (docs/formats.md, section 7). Plain structs,
// usable in device code.
//
// All values are integers: energies in keV (in the beam counters 1/1000 photoelectron), lengths in
// 0.1 mm, times in 1/128 ns relative to the trigger's time.
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/format/block.hpp"
#include "transport/format/function.hpp"

namespace l3 {

/// Quantities of an event, on which lines may cut. The order is that of the packed summary: new
/// ones go to the end. docs/selection.md has formulas and sources.
enum class quantity : std::uint8_t {
  calorimeter_energy,  ///< keV; sum of all in-time crystals above threshold
  crystals,            ///< number of these crystals
  clusters,            ///< number of clusters with at least two crystals
  photons,             ///< number of clusters in time and above the photon threshold
  photon_energy,       ///< keV; their sum
  photon_energy_min,   ///< keV
  photon_energy_max,   ///< keV
  photon_inner,        ///< 0.1 mm; smallest max(|x|, |y|) of the photons
  photon_radius,       ///< 0.1 mm; of the outermost photon
  photon_distance,     ///< 0.1 mm; between the two nearest photons
  photon_time_spread,  ///< 1/128 ns; between the first and the last photon
  centre_radius,       ///< 0.1 mm; of the photons' energy-weighted mean position
  opening,             ///< 1/1000; cosine of the transverse angle between two photons
  vertex_z,            ///< 0.1 mm; of a neutral pion on the axis that decays to the two photons
  transverse_momentum, ///< keV/c; of that pion
  event_time,          ///< 1/128 ns; from here windows are measured; 0 if no crystal defines it
  count_
};
inline constexpr std::uint32_t quantities = static_cast<std::uint32_t>(quantity::count_);

/// The value of an undefined quantity, such as the vertex of three photons. It is outside every
/// range.
inline constexpr std::int32_t undefined_quantity = -0x7fffffff - 1;

inline constexpr std::uint32_t max_lines = 32;
inline constexpr std::uint32_t max_vetoes = 30;
inline constexpr std::uint32_t max_summary_photons = 16;
inline constexpr std::uint32_t max_hits_of_counter = 3;
inline constexpr std::uint32_t max_summary_hits = max_vetoes * max_hits_of_counter;
// Bits of event_summary::unknown besides the vetoes' bits.
inline constexpr std::uint32_t trigger_unknown = 1U << 30; ///< the level-1 bits could not be read
inline constexpr std::uint32_t calorimeter_unknown = 1U << 31;

/// A cluster that counts as a photon.
struct photon_summary {
  std::int32_t energy = 0; ///< keV
  std::int32_t time = 0;   ///< 1/128 ns
  std::int16_t x = 0;      ///< 0.1 mm
  std::int16_t y = 0;
  std::uint16_t crystals = 0;
  std::uint16_t reserved = 0;

  friend bool operator==(const photon_summary&, const photon_summary&) = default;
};
static_assert(sizeof(photon_summary) == 16);

/// One of the highest hits of a counter, independent of the counter's threshold and window.
struct veto_hit_summary {
  std::int32_t energy = 0;  ///< keV or 1/1000 photoelectron
  std::int32_t time = 0;    ///< 1/128 ns
  std::uint16_t module = 0; ///< within its counter
  std::uint8_t counter = 0; ///< its bit in event_summary::vetoes
  std::uint8_t reserved = 0;

  friend bool operator==(const veto_hit_summary&, const veto_hit_summary&) = default;
};
static_assert(sizeof(veto_hit_summary) == 12);

/// With `not_judged` an event is overfull: its quantities and counters are unknown, so lines that
/// use them do not judge it.
enum selection_status : std::uint8_t {
  too_many_clusters = 1,
  too_many_hits = 2,
  more_photons = 4, ///< more than the summary can list; the event was judged
  recorded = 8,     ///< no line kept it, but the selection's mode is `record`
};
inline constexpr std::uint32_t not_judged = too_many_clusters | too_many_hits;

/// The first condition of a line that an event failed; 0 if the line fired. Values from
/// out_of_range on give the quantity that was out of range.
enum line_reason : std::uint8_t {
  line_fired = 0,
  line_trigger = 1,      ///< wrong level-1 bits
  line_veto = 2,         ///< a vetoing counter fired
  line_veto_missing = 3, ///< a required counter did not fire
  line_unknown = 4,      ///< a counter or the calorimeter could not be read
  line_prescale = 5,     ///< it fired, but its prescale dropped the event
  line_decodable = 6,    ///< it takes only events that cannot be decoded
  line_not_judged = 7,   ///< it uses quantities or counters, but the event is overfull
  line_not_overfull = 8, ///< it takes only overfull events
  line_out_of_range = 16,
};

struct event_summary {
  std::uint32_t fired = 0;   ///< bit n: line n fired
  std::uint32_t kept_by = 0; ///< bit n: line n fired and its prescale kept the event
  std::uint32_t vetoes = 0;  ///< bit n: counter n fired
  std::uint32_t unknown = 0; ///< counters with a missing or damaged board, or with only dead inputs
  std::uint16_t trigger = 0; ///< level-1 bits, header word 0 of the trigger board
  std::uint16_t photons_found = 0;
  std::uint8_t status = 0;  ///< selection_status
  std::uint8_t photons = 0; ///< number in the list below
  std::uint8_t lines = 0;
  std::uint8_t kept = 0; ///< 1: kept by a line, as overfull without a line for these, or recorded
  std::int32_t quantity[quantities] = {};
  std::uint8_t reason[max_lines] = {};        ///< line_reason
  event_payload payload = event_payload::all; ///< the part of the waveforms that is kept
  std::uint8_t hits = 0;                      ///< number in the list below
  std::uint16_t reserved[3] = {};
  std::uint32_t asked = 0;   ///< bit n: line n kept the event and asks for this payload
  std::uint32_t control = 0; ///< bit n: line n kept it for its control sample
  photon_summary photon[max_summary_photons];
  veto_hit_summary hit[max_summary_hits]; ///< by counter, then by falling energy

  friend bool operator==(const event_summary&, const event_summary&) = default;
};
static_assert(sizeof(event_summary) % 8 == 0);

/// The head of an event's summary in the output stream, followed by a packed_line for each line,
/// the photons (photon_summary), the quantities (i32), the hits of vetoes (veto_hit_summary), the
/// lines' reasons (u8, line_reason), and zeros up to a multiple of 8. Version 1 has neither hits
/// nor reasons.
struct packed_summary {
  std::uint8_t version = 2;
  std::uint8_t lines = 0;
  std::uint8_t photons = 0;
  std::uint8_t quantities = 0;
  std::uint16_t trigger = 0;
  std::uint8_t status = 0;
  std::uint8_t hits = 0;
  std::uint16_t photons_found = 0;
  std::uint16_t reserved = 0;
  std::uint32_t settings = 0; ///< hash of the active lines and cuts
  std::uint32_t fired = 0;
  std::uint32_t kept_by = 0;
  std::uint32_t vetoes = 0;
  std::uint32_t unknown = 0;
};
static_assert(sizeof(packed_summary) == 32);

struct packed_line {
  std::uint32_t id = 0; ///< FNV-1a, 32 bits, of its name
  std::uint32_t prescale = 0;
};
static_assert(sizeof(packed_line) == 8);

/// Length of a packed summary, a multiple of 8.
[[nodiscard]] L3_FN constexpr std::uint32_t
packed_summary_bytes(std::uint32_t lines, std::uint32_t photons, std::uint32_t hits) {
  const auto bytes = static_cast<std::uint32_t>(
      sizeof(packed_summary) + lines * sizeof(packed_line) + photons * sizeof(photon_summary) +
      quantities * sizeof(std::int32_t) + hits * sizeof(veto_hit_summary) + lines);
  return (bytes + 7) / 8 * 8;
}

[[nodiscard]] constexpr std::string_view name_of(quantity q) {
  constexpr std::string_view names[quantities] = {"calorimeter_energy",
                                                  "crystals",
                                                  "clusters",
                                                  "photons",
                                                  "photon_energy",
                                                  "photon_energy_min",
                                                  "photon_energy_max",
                                                  "photon_inner",
                                                  "photon_radius",
                                                  "photon_distance",
                                                  "photon_time_spread",
                                                  "centre_radius",
                                                  "opening",
                                                  "vertex_z",
                                                  "transverse_momentum",
                                                  "event_time"};
  return names[static_cast<std::uint32_t>(q)];
}

} // namespace l3
