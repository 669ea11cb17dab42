// SPDX-License-Identifier: Apache-2.0
// The selection's settings in a physicist's terms: the algorithms, the cuts for clusters and
// photons, the vetoes, the trigger lines. Energies in MeV (in the beam counters photoelectrons),
// lengths in mm, times in ns. They are read from TOML (selection/trigger/parse_selection.hpp) and
// converted to the integers of the algorithms once, at the start
// (selection/trigger/make_tables.hpp). Values that can be checked only together with the detector
// remember their place for the message.
#pragma once

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

/// ns, with the place of the setting.
struct time_window : interval {
  source_place place{"built-in"};
};

struct cluster_settings {
  setting<double> crystal_threshold = 3;  ///< MeV
  time_window event_window = {{-40, 40}}; ///< relative to the trigger; all others: to the event
  time_window crystal_window = {{-28, 28}};
  setting<double> neighbour_distance = 70; ///< mm, in x and in y between two crystals' centres
};

struct photon_settings {
  double threshold = 60; ///< MeV
  time_window window = {{-20, 20}};
  double energy_scale = 1; ///< a photon's energy = cluster energy × this …
  /// … + the missing energy of a cluster of this many MeV, due to the crystals' threshold.
  std::vector<std::pair<double, double>> energy_correction = {
      {30, 2}, {72, 3}, {143, 7.6}, {288, 13.5}, {483, 17.5}, {755, 19.5}, {1330, 17.5}};
};

/// Settings for all vetoes without their own.
struct veto_settings {
  setting<double> threshold_factor = 8; ///< online threshold = offline threshold × this
  setting<double> window_margin = 2;    ///< ns: removed at both ends of the offline window
  double tolerance = 10;                ///< ns, for modules with two ends and no length
  double tolerance_margin = 5;          ///< ns, added to the light's travel time through a module
};

struct counter_settings {
  setting<std::string> name;
  std::optional<setting<double>> threshold; ///< MeV or photoelectrons
  std::optional<time_window> window;
  std::optional<double> tolerance; ///< ns: pulses farther apart belong to different hits
  std::optional<setting<std::uint32_t>>
      neighbours;    ///< number of adjacent modules that must have a hit …
  double within = 0; ///< ns: … within this time
  std::optional<std::uint32_t> kept_neighbours; ///< see suppression_settings::neighbours
};

/// Which waveforms of a suppressed event are kept.
struct suppression_settings {
  double sigma = 5;       ///< those with a sample beyond this many σ of the pedestal …
  double seed_sigma = 40; ///< … and the neighbours of those with a sample this far above it:
  std::uint32_t neighbours = 1; ///< within this many steps; touching crystals, adjacent modules
  std::vector<setting<std::string>> exempt; ///< counters that keep all waveforms
};

/// A condition on a quantity in its unit (selection/trigger/quantity_units.hpp).
struct range_settings {
  quantity what = quantity::count_;
  interval range;
  source_place place;
};

/// A menu's name of the calorimeter among counters.
inline constexpr std::string_view calorimeter_inputs = "calorimeter";

struct line_settings {
  setting<std::string> name;
  std::uint16_t trigger_any = 0;  ///< trigger_bit: one of these; 0: any event
  std::uint16_t trigger_none = 0; ///< none of these
  std::vector<range_settings> ranges;
  bool all_vetoes = false;                  ///< no counter may have fired except those in `fired`
  std::vector<setting<std::string>> vetoes; ///< these must not have fired
  std::vector<setting<std::string>> fired;  ///< these must have
  bool undecodable = false;                 ///< fires only if part of the event cannot be decoded
  bool overfull = false;                    ///< fires only if the event is overfull
  unknown_rule when_unknown = unknown_rule::ignore;
  std::uint32_t prescale = 1;
  std::uint8_t priority = 100; ///< the highest is shed last
  setting<event_payload> payload = event_payload::all;
  std::uint32_t control = 0; ///< one in this many of its events keeps everything; 0: none
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
