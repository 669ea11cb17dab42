// SPDX-License-Identifier: Apache-2.0
// The tables of the algorithms: the channel map with its calibration, the geometry, the vetoes, the
// lines. selection/trigger/make_tables.hpp makes them at the start from detector, calibration and
// settings; all frames then read them. All numbers are integers in the units of slots.hpp, so that
// every executor rounds alike.
#pragma once

#include <cstdint>

#include "gpu/memory/column.hpp"
#include "transport/format/payload.hpp"
#include "transport/format/readout.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

enum class input_kind : std::uint8_t { none, crystal, veto };

/// An input of the readout, by its number: 16 × board + channel, boards in the readout's order.
/// Dead inputs have the kind none.
struct input_entry {
  static constexpr std::uint32_t gain_shift = 16;

  std::int32_t gain = 0; ///< energy = sum × gain >> gain_shift, sum in 1/4 count
  std::int32_t time =
      0; ///< 1/128 ns since the first sample: when a pulse in time crosses half height
  std::uint16_t least_height = 0xffff; ///< counts; algorithms ignore lower pulses
  std::uint16_t index = 0;             ///< the crystal, or 2 × module + end
  input_kind kind = input_kind::none;
  std::uint8_t time_shift = 0; ///< from 1/256 sample to 1/128 ns: 2 at 125 MHz, 0 at 500 MHz
  std::uint16_t reserved = 0;

  /// keV, or 1/1000 photoelectron.
  [[nodiscard]] L3_FN std::int32_t energy_of(std::int32_t sum) const {
    return static_cast<std::int32_t>(std::int64_t{sum} * gain >> gain_shift);
  }
  /// Converts 1/256 sample since the first sample to 1/128 ns relative to the trigger's time.
  [[nodiscard]] L3_FN std::int32_t time_of(std::uint16_t edge) const {
    return (static_cast<std::int32_t>(edge) << time_shift) - time;
  }
};
static_assert(sizeof(input_entry) == 16);

/// The limits of an input's quiet waveforms, by input number: all samples are in [low,
/// high]. A quiet waveform is still kept if one of its neighbours has a sample of at least
/// `seed`.
struct input_levels {
  std::uint16_t low = 0xffff; ///< above `high`: the waveform is always loud
  std::uint16_t high = 0;
  std::uint16_t seed = 0xffff;
  std::uint16_t reserved = 0;
  std::uint32_t first_neighbour = 0; ///< in `kept_with`; the list ends at that of the next input
};

struct crystal_entry {
  std::int16_t x = 0; ///< 0.1 mm
  std::int16_t y = 0;
  std::uint32_t first_neighbour = 0; ///< in `neighbours`; the list ends at that of the next crystal
};

struct module_entry {
  std::uint8_t veto = 0;
  std::uint8_t ends = 1;
  std::uint8_t alive = 1; ///< bit e: end e is alive
  std::uint8_t reserved = 0;
};

struct veto_entry {
  std::int32_t threshold = 0; ///< keV or 1/1000 photoelectron: least energy of counting hits
  std::int32_t from = 0;      ///< 1/128 ns since the event's time: the window of hits that count,
                              ///< both ends included
  std::int32_t to = 0;
  std::uint16_t first_module = 0;
  std::uint16_t modules = 0;
  std::uint16_t neighbours = 1; ///< number of adjacent modules that must have a hit …
  std::uint16_t reserved = 0;
  std::int32_t within = 0; ///< 1/128 ns: … within this time

  // For modules read at both ends.
  std::int32_t tolerance = 0;   ///< 1/128 ns: pulses farther apart belong to different hits
  std::int32_t half_length = 0; ///< mm; 0: no position and no attenuation
  std::int32_t z_of_time = 0;   ///< z in mm = (t of end 0 − t of end 1) × this >> 16
};

/// exp(z / attenuation length) and its inverse, in 1/65536, by |z| / attenuation_step.
struct attenuation_entry {
  std::uint32_t grown = 1U << 16;
  std::uint32_t shrunk = 1U << 16;
};
inline constexpr std::int32_t attenuation_step = 16; // mm

/// A line's behaviour if boards of the counters in its conditions are missing.
enum class unknown_rule : std::uint8_t {
  ignore, ///< the line judges the existing boards
  keep,   ///< the condition counts as met
  refuse, ///< the line does not fire
};

struct range_entry {
  std::int32_t from = 0; ///< both ends included
  std::int32_t to = 0;
  quantity what = quantity::count_;
};

/// A line fires if all its conditions are met.
struct line_entry {
  static constexpr std::uint32_t max_ranges = 12;

  std::uint32_t id = 0; ///< hash of the line's name
  std::uint32_t prescale = 1;
  std::uint32_t vetoes_off = 0;   ///< none of these counters may have fired
  std::uint32_t vetoes_on = 0;    ///< all of these counters must have fired
  std::uint16_t trigger_any = 0;  ///< one of these level-1 bits must be set; 0: any event
  std::uint16_t trigger_none = 0; ///< none of these level-1 bits may be set
  std::uint8_t priority = 0;      ///< lines with the highest priority are shed last
  std::uint8_t undecodable = 0;   ///< 1: fires only if part of the event cannot be decoded
  std::uint8_t overfull = 0;      ///< 1: fires only if the event is overfull
  unknown_rule unknown = unknown_rule::ignore;
  event_payload payload = event_payload::all; ///< the kept part of the line's events
  std::uint8_t ranges = 0;
  std::uint32_t control = 0; ///< one in this many of them keeps everything; 0: none
  range_entry range[max_ranges];
};

/// A point of the energy correction, keV: a cluster of this energy lacks this part of its photon's
/// energy, because the shower also reached crystals below the threshold. The correction is linear
/// between two points, and constant beyond the outermost ones.
struct energy_point {
  std::int32_t energy = 0;
  std::int32_t lacking = 0;
};
inline constexpr std::uint32_t max_correction_points = 8;

struct selection_constants {
  std::uint32_t run = 0;
  std::uint32_t settings =
      0; ///< hash of the whole selection (trigger/hash_tables.cpp), for the output

  // Crystals, clusters, photons.
  std::int32_t crystal_threshold = 0; ///< keV
  std::int32_t event_from = 0;        ///< 1/128 ns: window in which the event's time is searched
  std::int32_t event_to = 0;
  std::int32_t crystal_from = 0; ///< 1/128 ns relative to the event's time
  std::int32_t crystal_to = 0;
  std::int32_t photon_threshold = 0; ///< keV
  std::int32_t photon_from = 0;      ///< 1/128 ns relative to the event's time
  std::int32_t photon_to = 0;
  std::int32_t photon_scale = 1 << 16; ///< a photon's energy = cluster energy × this >> 16 …
  std::uint32_t correction_points = 0; ///< … + the correction for its missing part
  energy_point correction[max_correction_points];
  std::int32_t front = 0; ///< z of the calorimeter's front face, 0.1 mm

  std::uint32_t dead_vetoes = 0;   ///< bit n: all inputs of counter n are dead
  std::uint16_t trigger_board = 0; ///< its number in the readout
  std::uint16_t vetoes = 0;
  std::uint16_t lines = 0;
  std::uint16_t overfull_lines = 0; ///< of these, lines that take overfull events
  std::uint32_t record = 0;         ///< 1: every event is kept; lines only judge it
  std::uint32_t levels = 0;         ///< hash of the levels of quiet waveforms; 0: unused
};

/// The tables for kernels, which take them by value.
struct selection_tables {
  selection_constants constants;
  column<const std::uint16_t> first_board;  ///< by crate, plus one entry after the last crate
  column<const std::uint32_t> board_vetoes; ///< by board; bit n: an input of counter n is on this
                                            ///< board; calorimeter_unknown, trigger_unknown
  column<const input_entry> inputs;
  column<const crystal_entry> crystals;   ///< plus one entry after the last crystal
  column<const std::uint16_t> neighbours; ///< with lower numbers, crystal by crystal
  column<const module_entry> modules;
  column<const veto_entry> vetoes;
  column<const attenuation_entry> attenuation;
  column<const line_entry> lines;
  column<const packed_line> packed_lines;            ///< the same lines in the form of the output
  column<const packed_line_payload> packed_payloads; ///< empty if all lines keep all waveforms
  column<const input_levels> levels;     ///< by input, plus one after the last; or empty
  column<const std::uint16_t> kept_with; ///< numbers of neighbouring inputs, input by input
};

} // namespace l3
