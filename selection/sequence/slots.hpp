// SPDX-License-Identifier: Apache-2.0
// The slots: columns with a name and a number of rows, through which the algorithms of the
// selection exchange results. Each algorithm declares which slots it reads and writes
// (sequence/algorithm.hpp). From top to bottom, this page leads from waveforms to a
// decision.
//
// All numbers are integers: counts are ADC counts, energies keV (in the beam counters 1/1000
// photoelectron), lengths 0.1 mm, times 1/128 ns relative to the trigger's time.
#pragma once

#include <cstdint>
#include <string_view>

#include "gpu/columns/soa.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

enum pulse_flag : std::uint8_t {
  pulse_found = 1,
  pulse_saturated = 2, ///< the peak is at the end of the digitizer's range
  pulse_flat = 4,      ///< all samples of the waveform are equal
  pulse_second = 8,    ///< the waveform holds another pulse, or more pulses than rows; without
                       ///< pulse_found: a pulse out of time may hide one in time
  pulse_no_edge = 16,  ///< the rising edge is outside the waveform: time is 0
};

/// Pulses, 16 rows per board, numbered 16 × board + row. At 125 MHz row c has the pulse of channel
/// c in time with the trigger; at 500 MHz row 4 c + j has pulse j of channel c. Every row of a
/// readable board has a pedestal, the level of the quietest part of the waveform; at 125 MHz it
/// also has a peak, the highest in-time sample. In a row without a pulse that is high enough for
/// its input, all other columns except `flags` are 0.
struct pulses {
  static constexpr std::string_view name = "pulses";
  template <template <class> class column>
  struct fields {
    column<std::uint16_t> pedestal;   ///< 1/4 count
    column<std::uint16_t> peak;       ///< counts, including pedestal
    column<std::uint8_t> peak_sample; ///< the first with that height
    column<std::uint8_t> flags;       ///< pulse_flag
    column<std::uint16_t> time; ///< 1/256 sample: where the rising edge crosses half the height
    column<std::int32_t> sum;   ///< 1/4 count, above the level around it (pulse_window.hpp)
  };
  using columns = soa<fields>;
  static std::uint32_t rows(const batch_capacity& c) { return c.boards * l2::waveforms_per_board; }
};

/// The boards, one row each.
struct board_signals {
  static constexpr std::string_view name = "board_signals";
  static constexpr std::uint16_t unread = 0xffff;
  template <template <class> class column>
  struct fields {
    column<std::uint16_t> number;  ///< the board's number in the readout; unread: the board cannot
                                   ///< be decoded, or the readout has no such board
    column<std::uint16_t> lit;     ///< bit k: row k has a high enough pulse for its input
    column<std::uint16_t> trigger; ///< the low 14 bits of header word 0
    // 0 if no line needs to know which waveforms are quiet (input_levels):
    column<std::uint16_t> loud;  ///< bit r: record r has a sample beyond its input's levels
    column<std::uint16_t> seeds; ///< bit r: record r has a sample for which neighbours are kept
  };
  using columns = soa<fields>;
  static std::uint32_t rows(const batch_capacity& c) { return c.boards; }
};

/// Clusters of crystals, max_clusters rows per event, in the order of their lowest crystal.
struct clusters {
  static constexpr std::string_view name = "clusters";
  static constexpr std::uint32_t max_clusters = 64;
  template <template <class> class column>
  struct fields {
    column<std::int32_t> energy; ///< keV
    column<std::int32_t> time;   ///< 1/128 ns, the energy-weighted mean
    column<std::int16_t> x;      ///< 0.1 mm, the energy-weighted mean
    column<std::int16_t> y;
    column<std::uint16_t> crystals;
  };
  using columns = soa<fields>;
  static std::uint32_t rows(const batch_capacity& c) { return c.events * max_clusters; }
};

/// The calorimeter as a whole, one row per event. All cuts on times are relative to `time`.
struct calorimeter {
  static constexpr std::string_view name = "calorimeter";
  template <template <class> class column>
  struct fields {
    column<std::int32_t> energy;    ///< keV, sum of all in-time crystals above threshold
    column<std::int32_t> time;      ///< 1/128 ns: the event's own time; 0 if no crystal defines it
    column<std::uint16_t> crystals; ///< number of these crystals
    column<std::uint16_t> clusters; ///< of two crystals or more; max_clusters have rows
  };
  using columns = soa<fields>;
  static std::uint32_t rows(const batch_capacity& c) { return c.events; }
};

/// Hits in modules of the vetoes, max_hits rows per event, sorted by module, then by the time of
/// the hit's earlier pulse.
struct hits {
  static constexpr std::string_view name = "hits";
  static constexpr std::uint32_t max_hits = 512;
  static constexpr std::uint16_t no_module = 0xffff; ///< the row is empty
  template <template <class> class column>
  struct fields {
    column<std::int32_t> energy;  ///< keV or 1/1000 photoelectron
    column<std::int32_t> time;    ///< 1/128 ns
    column<std::int16_t> z;       ///< mm along the module, from its middle; 0 if unknown
    column<std::uint16_t> module; ///< number of the module within all vetoes
    column<std::uint8_t> ends;    ///< bit e: end e has a pulse
  };
  using columns = soa<fields>;
  static std::uint32_t rows(const batch_capacity& c) { return c.events * max_hits; }
};

struct hit_counts {
  static constexpr std::string_view name = "hit_counts";
  template <template <class> class column>
  struct fields {
    column<std::uint32_t> found; ///< number of hits; only max_hits of them have rows
  };
  using columns = soa<fields>;
  static std::uint32_t rows(const batch_capacity& c) { return c.events; }
};

/// The state of the counters, one row per event.
struct veto_bits {
  static constexpr std::string_view name = "veto_bits";
  template <template <class> class column>
  struct fields {
    column<std::uint32_t> fired;   ///< bit n: counter n
    column<std::uint32_t> unknown; ///< bit n: a board of counter n is missing or cannot be decoded;
                                   ///< trigger_unknown, calorimeter_unknown: likewise
    column<std::uint16_t> trigger; ///< level-1 bits; 0 without the trigger board
  };
  using columns = soa<fields>;
  static std::uint32_t rows(const batch_capacity& c) { return c.events; }
};

/// The highest hits of each counter, one list per event, by counter and falling energy. They do not
/// depend on windows and thresholds, so that readers of the summary may try others.
struct high_hits {
  static constexpr std::string_view name = "high_hits";
  struct list {
    std::uint32_t count = 0;
    veto_hit_summary hit[max_summary_hits];
  };
  template <template <class> class column>
  struct fields {
    column<list> all;
  };
  using columns = soa<fields>;
  static std::uint32_t rows(const batch_capacity& c) { return c.events; }
};

/// Photons and quantities of the event; `decide` adds the decision.
struct summaries {
  static constexpr std::string_view name = "summaries";
  template <template <class> class column>
  struct fields {
    column<event_summary> all;
  };
  using columns = soa<fields>;
  static std::uint32_t rows(const batch_capacity& c) { return c.events; }
};

} // namespace l3
