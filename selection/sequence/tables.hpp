// SPDX-License-Identifier: Apache-2.0
// What the algorithms know beforehand: the channel map with its calibration, the geometry, the
// vetoes, the lines. Made once, at start, from detector, calibration and settings
// (selection/trigger/make_tables.hpp), and then only read, by all frames. Everything is a whole
// number, in the units of slots.hpp, so that no executor can round otherwise than another.
#pragma once

#include <cstdint>

#include "gpu/memory/column.hpp"
#include "transport/format/readout.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

enum class input_kind : std::uint8_t { none, crystal, veto };

/// An input of the readout, by its number: 16 × board + channel, boards in the readout's order.
/// Dead inputs are none.
struct input_entry {
  static constexpr std::uint32_t gain_shift = 16;

  std::int32_t gain = 0; ///< energy = sum × gain >> gain_shift, sum in 1/4 count
  std::int32_t time =
      0; ///< 1/128 ns since the first sample: when a pulse in time crosses half height
  std::uint16_t least_height = 0xffff; ///< counts: lower pulses are not looked at
  std::uint16_t index = 0;             ///< the crystal, or 2 × module + end
  input_kind kind = input_kind::none;
  std::uint8_t time_shift = 0; ///< from 1/256 sample to 1/128 ns: 2 at 125 MHz, 0 at 500 MHz
  std::uint16_t reserved = 0;

  /// keV, or 1/1000 photoelectron.
  [[nodiscard]] L3_FN std::int32_t energy_of(std::int32_t sum) const {
    return static_cast<std::int32_t>(std::int64_t{sum} * gain >> gain_shift);
  }
  /// 1/128 ns since the trigger's time, from 1/256 sample since the first.
  [[nodiscard]] L3_FN std::int32_t time_of(std::uint16_t edge) const {
    return (static_cast<std::int32_t>(edge) << time_shift) - time;
  }
};
static_assert(sizeof(input_entry) == 16);

struct crystal_entry {
  std::int16_t x = 0; ///< 0.1 mm
  std::int16_t y = 0;
  std::uint32_t first_neighbour = 0; ///< in neighbours; they end where the next crystal's begin
};

struct module_entry {
  std::uint8_t veto = 0;
  std::uint8_t ends = 1;
  std::uint8_t alive = 1; ///< bit e: end e is not dead
  std::uint8_t reserved = 0;
};

struct veto_entry {
  std::int32_t threshold = 0; ///< keV or 1/1000 photoelectron: hits from here on count
  std::int32_t from = 0;      ///< 1/128 ns: their window, both ends included
  std::int32_t to = 0;
  std::uint16_t first_module = 0;
  std::uint16_t modules = 0;
  std::uint16_t neighbours = 1; ///< so many modules side by side must have a hit …
  std::uint16_t reserved = 0;
  std::int32_t within = 0; ///< 1/128 ns: … this near in time

  // Of modules read at both ends.
  std::int32_t tolerance = 0;   ///< 1/128 ns: farther apart the two ends saw different things
  std::int32_t half_length = 0; ///< mm; 0: no position, no attenuation
  std::int32_t z_of_time = 0;   ///< z in mm = (t of end 0 − t of end 1) × this >> 16
};

/// exp(z / attenuation length) and its inverse, in 1/65536, by |z| / attenuation_step.
struct attenuation_entry {
  std::uint32_t grown = 1U << 16;
  std::uint32_t shrunk = 1U << 16;
};
inline constexpr std::int32_t attenuation_step = 16; // mm

/// What a line does with an event that lacks boards of the counters it looks at.
enum class unknown_rule : std::uint8_t {
  ignore, ///< judges what is there
  keep,   ///< the condition counts as met
  refuse, ///< does not fire
};

struct range_entry {
  std::int32_t from = 0; ///< both ends included
  std::int32_t to = 0;
  quantity what = quantity::count_;
};

/// A line fires if all its conditions are met.
struct line_entry {
  static constexpr std::uint32_t max_ranges = 12;

  std::uint32_t id = 0; ///< a hash of its name
  std::uint32_t prescale = 1;
  std::uint32_t vetoes_off = 0;   ///< none of these may have fired
  std::uint32_t vetoes_on = 0;    ///< all of these must have
  std::uint16_t trigger_any = 0;  ///< one of these level-1 bits; 0: any event
  std::uint16_t trigger_none = 0; ///< none of these
  std::uint8_t priority = 0;      ///< the highest is given up last
  std::uint8_t undecodable = 0;   ///< 1: fires only if part of the event cannot be decoded
  unknown_rule unknown = unknown_rule::ignore;
  std::uint8_t ranges = 0;
  range_entry range[max_ranges];
};

/// A cluster of so much energy lacks so much of its photon's, keV: what its shower left in crystals
/// below the threshold. Between two points along a straight line, beyond them as at the nearest.
struct energy_point {
  std::int32_t energy = 0;
  std::int32_t lacking = 0;
};
inline constexpr std::uint32_t max_correction_points = 8;

struct selection_constants {
  std::uint32_t run = 0;
  std::uint32_t settings =
      0; ///< of all that decides (selection/trigger/settings_id.hpp), for the stream

  // Crystals, clusters, photons.
  std::int32_t crystal_threshold = 0; ///< keV
  std::int32_t crystal_from = 0;      ///< 1/128 ns
  std::int32_t crystal_to = 0;
  std::int32_t photon_threshold = 0; ///< keV
  std::int32_t photon_from = 0;      ///< 1/128 ns
  std::int32_t photon_to = 0;
  std::int32_t photon_scale = 1 << 16; ///< a photon's energy = cluster energy × this >> 16 …
  std::uint32_t correction_points = 0; ///< … + what these say that it lacks
  energy_point correction[max_correction_points];
  std::int32_t front = 0; ///< z of the calorimeter's face, 0.1 mm

  std::uint32_t dead_vetoes = 0;   ///< counters all of whose inputs are dead
  std::uint16_t trigger_board = 0; ///< number in the readout
  std::uint16_t vetoes = 0;
  std::uint16_t lines = 0;
};

/// As kernels see it; passed by value.
struct selection_tables {
  selection_constants constants;
  column<const std::uint16_t> first_board;  ///< of each crate place, and behind the last
  column<const std::uint32_t> board_vetoes; ///< bit n: an input of counter n hangs on this
                                            ///< board; calorimeter_unknown, trigger_unknown
  column<const input_entry> inputs;
  column<const crystal_entry> crystals;   ///< and one behind the last
  column<const std::uint16_t> neighbours; ///< of each crystal those with lower numbers
  column<const module_entry> modules;
  column<const veto_entry> vetoes;
  column<const attenuation_entry> attenuation;
  column<const line_entry> lines;
  column<const packed_line> packed_lines; ///< the same lines as the stream names them
};

} // namespace l3
