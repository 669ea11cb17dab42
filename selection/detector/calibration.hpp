// SPDX-License-Identifier: Apache-2.0
// The calibration: the meaning of a count on each input, the time of its pulses, and the dead
// inputs. The nominal one follows from the detector's description; its time offsets are those of
// the simulator (input_constants). A real detector's come from a calibration
// file, a table with a line for each input that differs:
//
//   input,gain,time,threshold,dead,pedestal,noise
//   0/3/7,0.0851,-2.4,,,512.3,2.4
//   12/4/0,,,,1,,
//
// Empty fields, and inputs without a line, keep the nominal value. The last two columns are
// optional. Pedestal and noise determine which waveforms are quiet (trigger/cut_tables.hpp);
// wrong values make waveforms count as loud and lose none. With `runs,` in front of the header each
// line is for some runs, such as 100-199, 200- or 100; an input with lines needs exactly one for
// each run that is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "selection/detector/detector.hpp"

namespace l3 {

/// The constants that differ between the inputs of a simulated detector: noise, pedestal, time
/// offset. They are drawn from the seed in the detector's description, so that the simulator, which
/// puts them into the waveforms, and the nominal calibration (selection/detector/calibration.hpp)
/// agree. A real detector's constants come from a calibration file.
struct input_constants {
  double noise = 0;    ///< rms, counts
  double pedestal = 0; ///< counts
  double time = 0;     ///< ns: delay of this input's pulses
};

/// For all inputs, by their number in the detector.
[[nodiscard]] std::vector<input_constants> draw_input_constants(const detector& d);

struct channel_calibration {
  double gain = 0;                ///< MeV, or photoelectrons, per count of a pulse's height
  double time = 0;                ///< ns: delay of this input's pulses
  std::uint32_t least_height = 0; ///< counts: lower pulses are noise for every cut
  bool dead = true;               ///< also an unused input
  double pedestal = 0;            ///< counts
  double noise = 0;               ///< counts, rms; 0: unknown
};

/// All inputs by their number in the detector.
using calibration = std::vector<channel_calibration>;

[[nodiscard]] calibration nominal_calibration(const detector& d);

/// A table's calibration for one run.
struct run_calibration {
  calibration inputs;
  std::string in_force; ///< the lines for this run, as a table for all runs
};

/// Without a run, the first line of each input is used, so that mistakes are found even if the run
/// is unknown. Throws bad_file (config/toml/complaints.hpp).
[[nodiscard]] run_calibration calibration_of_run(std::string_view text, const std::string& name,
                                                 const detector& d,
                                                 std::optional<std::uint32_t> run);

} // namespace l3
