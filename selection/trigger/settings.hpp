// SPDX-License-Identifier: Apache-2.0
// How the selection selects, as a physicist writes it: which algorithms run, the cuts for clusters
// and photons, the vetoes, the trigger lines. Energies in MeV (in the beam counters
// photoelectrons), lengths in mm, times in ns. Read from TOML
// (selection/trigger/parse_selection.hpp) and turned into the whole numbers that the algorithms
// work with once, at start (selection/trigger/make_tables.hpp). Values that can only be judged
// together with the detector know where they were set, for the message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/toml/place.hpp"
#include "selection/sequence/tables.hpp"

namespace l3 {

/// Both ends included.
struct interval {
  double from = 0;
  double to = 0;
};

/// ns, and where it was set.
struct time_window : interval {
  source_place place{"built-in"};
};

struct cluster_settings {
  setting<double> crystal_threshold = 3;  ///< MeV
  time_window event_window = {{-40, 40}}; ///< around the trigger's time; all others: the event's
  time_window crystal_window = {{-28, 28}};
  setting<double> neighbour_distance = 70; ///< mm, in x and in y between two crystals' centres
};

struct photon_settings {
  double threshold = 60; ///< MeV
  time_window window = {{-20, 20}};
  double energy_scale = 1; ///< a photon's energy = cluster energy × this …
  /// … + what a cluster of so many MeV lacks, MeV: what the crystals' threshold cuts away.
  std::vector<std::pair<double, double>> energy_correction = {
      {30, 2}, {72, 3}, {143, 7.6}, {288, 13.5}, {483, 17.5}, {755, 19.5}, {1330, 17.5}};
};

/// The vetoes, for all counters without settings of their own.
struct veto_settings {
  setting<double> threshold_factor = 8; ///< online threshold = offline threshold × this
  setting<double> window_margin = 2;    ///< ns: cut off both ends of the offline window
  double tolerance = 10;                ///< ns, of modules with two ends and no length
  double tolerance_margin = 5;          ///< ns, over the light's way through a module with a length
};

struct counter_settings {
  setting<std::string> name;
  std::optional<setting<double>> threshold; ///< MeV or photoelectrons
  std::optional<time_window> window;
  std::optional<double> tolerance; ///< ns: farther apart the two ends saw different things
  std::optional<setting<std::uint32_t>>
      neighbours;    ///< so many modules side by side must have a hit …
  double within = 0; ///< ns: … this near in time
  std::optional<std::uint32_t> kept_neighbours; ///< as suppression_settings::neighbours
};

/// Which waveforms of a suppressed event are kept.
struct suppression_settings {
  double sigma = 5;       ///< those with a sample beyond so many σ of the pedestal …
  double seed_sigma = 40; ///< … and, of those with a sample so far above it, the neighbours:
  std::uint32_t neighbours = 1; ///< so many steps away; crystals that touch, modules side by side
  std::vector<setting<std::string>> exempt; ///< counters of which all waveforms are kept
};

/// A condition on a quantity, in its unit (selection/trigger/quantity_units.hpp).
struct range_settings {
  quantity what = quantity::count_;
  interval range;
  source_place place;
};

/// What a menu calls the calorimeter, where it names counters by their inputs.
inline constexpr std::string_view calorimeter_inputs = "calorimeter";

struct line_settings {
  setting<std::string> name;
  std::uint16_t trigger_any = 0;  ///< trigger_bit: one of these; 0: any event
  std::uint16_t trigger_none = 0; ///< none of these
  std::vector<range_settings> ranges;
  bool all_vetoes = false;                  ///< no counter may have fired but those in `fired`
  std::vector<setting<std::string>> vetoes; ///< these must not have fired
  std::vector<setting<std::string>> fired;  ///< these must have
  bool undecodable = false;                 ///< fires only if part of the event cannot be decoded
  bool overfull = false;                    ///< fires only if it has more than there is room for
  unknown_rule when_unknown = unknown_rule::ignore;
  std::uint32_t prescale = 1;
  std::uint8_t priority = 100; ///< the highest is given up last
  setting<event_payload> payload = event_payload::all;
  std::uint32_t control = 0; ///< one in so many of its events keeps all; 0: none
};

struct selection_settings {
  std::string source = "built-in"; ///< the file, for messages
  std::vector<setting<std::string>> sequence = {{"measure_pulses"},     {"find_clusters"},
                                                {"compute_quantities"}, {"match_ends"},
                                                {"judge_vetoes"},       {"decide"}};
  cluster_settings clusters;
  photon_settings photons;
  veto_settings vetoes;
  std::vector<counter_settings> counters;
  suppression_settings suppression;
  std::vector<line_settings> lines;
};

} // namespace l3
