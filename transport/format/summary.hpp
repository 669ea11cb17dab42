// SPDX-License-Identifier: Apache-2.0
// What the selection found in an event and decided about it: one event_summary for every event that
// it saw, kept or not. Each kept event carries the packed form (docs/formats.md, section 7). Plain
// structs, usable in device code.
//
// All values are whole numbers: energies in keV (in the beam counters 1/1000 photoelectron),
// lengths in 0.1 mm, times in 1/128 ns since the trigger's time.
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/format/block.hpp"
#include "transport/format/function.hpp"

namespace l3 {

/// Quantities of an event, on which lines may cut. Their order is that of the packed summary: new
/// ones go to the end. docs/selection.md has formulas and sources.
enum class quantity : std::uint8_t {
  calorimeter_energy,  ///< keV; sum of all crystals above threshold in time
  crystals,            ///< their number
  clusters,            ///< of two crystals or more
  photons,             ///< clusters in time that are high enough
  photon_energy,       ///< keV, their sum
  photon_energy_min,   ///< keV
  photon_energy_max,   ///< keV
  photon_inner,        ///< 0.1 mm: the least max(|x|, |y|) of any photon
  photon_radius,       ///< 0.1 mm: of the outermost photon
  photon_distance,     ///< 0.1 mm: of the two that are nearest to each other
  photon_time_spread,  ///< 1/128 ns: between the first and the last
  centre_radius,       ///< 0.1 mm: of the energy-weighted mean position of the photons
  opening,             ///< 1/1000: cosine of the transverse angle between two photons
  vertex_z,            ///< 0.1 mm: of two photons of a neutral pion on the axis
  transverse_momentum, ///< keV/c, of that pion
  count_
};
inline constexpr std::uint32_t quantities = static_cast<std::uint32_t>(quantity::count_);

/// The value of a quantity that the event lacks, such as the vertex of three photons; within no
/// range.
inline constexpr std::int32_t undefined_quantity = -0x7fffffff - 1;

inline constexpr std::uint32_t max_lines = 32;
inline constexpr std::uint32_t max_vetoes = 30;
inline constexpr std::uint32_t max_summary_photons = 16;
inline constexpr std::uint32_t max_hits_of_counter = 3;
inline constexpr std::uint32_t max_summary_hits = max_vetoes * max_hits_of_counter;
// In event_summary::unknown, beside the vetoes' bits.
inline constexpr std::uint32_t trigger_unknown = 1U << 30; ///< no level-1 bits could be read
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

/// One of the highest hits of a counter, whatever the counter's threshold and window.
struct veto_hit_summary {
  std::int32_t energy = 0;  ///< keV or 1/1000 photoelectron
  std::int32_t time = 0;    ///< 1/128 ns
  std::uint16_t module = 0; ///< counted in its counter
  std::uint8_t counter = 0; ///< its bit in event_summary::vetoes
  std::uint8_t reserved = 0;

  friend bool operator==(const veto_hit_summary&, const veto_hit_summary&) = default;
};
static_assert(sizeof(veto_hit_summary) == 12);

/// With `not_judged` an event is overfull: its quantities and counters are not known, so that lines
/// that ask for them do not judge it.
enum selection_status : std::uint8_t {
  too_many_clusters = 1,
  too_many_hits = 2,
  more_photons = 4, ///< than the summary has places; the event was judged
  recorded = 8,     ///< no line kept it: it is kept because the mode of the selection is `record`
};
inline constexpr std::uint32_t not_judged = too_many_clusters | too_many_hits;

/// The first condition of a line that an event failed. 0: the line fired. From out_of_range on: the
/// quantity that was out of range.
enum line_reason : std::uint8_t {
  line_fired = 0,
  line_trigger = 1,      ///< not the level-1 bits it wants
  line_veto = 2,         ///< a counter fired that must not fire
  line_veto_missing = 3, ///< a counter did not fire that must fire
  line_unknown = 4,      ///< a counter, or the calorimeter, could not be read out
  line_prescale = 5,     ///< it fired, and was prescaled away
  line_decodable = 6,    ///< it wants events that cannot be decoded
  line_not_judged = 7,   ///< it asks for quantities or counters of an overfull event
  line_not_overfull = 8, ///< it wants overfull events
  line_out_of_range = 16,
};

struct event_summary {
  std::uint32_t fired = 0;   ///< bit n: line n fired
  std::uint32_t kept_by = 0; ///< bit n: line n fired and its prescale kept the event
  std::uint32_t vetoes = 0;  ///< bit n: counter n fired
  std::uint32_t unknown = 0; ///< counters with a missing or damaged board, or with all inputs dead
  std::uint16_t trigger = 0; ///< level-1 bits, header word 0 of the trigger board
  std::uint16_t photons_found = 0;
  std::uint8_t status = 0;  ///< selection_status
  std::uint8_t photons = 0; ///< in the list below
  std::uint8_t lines = 0;
  std::uint8_t kept = 0; ///< 1: by a line, overfull while no line takes such events, or recorded
  std::int32_t quantity[quantities] = {};
  std::uint8_t reason[max_lines] = {};        ///< line_reason
  event_payload payload = event_payload::all; ///< what is kept of the waveforms
  std::uint8_t hits = 0;                      ///< in the list below
  std::uint16_t reserved = 0;
  std::uint32_t asked = 0;   ///< bit n: line n kept the event and asks for this payload
  std::uint32_t control = 0; ///< bit n: line n kept it and took it for its control sample
  photon_summary photon[max_summary_photons];
  veto_hit_summary hit[max_summary_hits]; ///< by counter, each counter's by falling energy

  friend bool operator==(const event_summary&, const event_summary&) = default;
};
static_assert(sizeof(event_summary) % 8 == 0);

/// The head of an event's summary in the output stream. A packed_line for each line follows, then
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
  std::uint32_t settings = 0; ///< a hash of the lines and cuts in force
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

/// Bytes of a packed summary, a multiple of 8.
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
                                                  "transverse_momentum"};
  return names[static_cast<std::uint32_t>(q)];
}

} // namespace l3
