// SPDX-License-Identifier: Apache-2.0
// The calibration: what a count means on each input, when its pulses appear, and which inputs are
// dead. The nominal one follows from the detector's description; its time offsets are those of the
// simulator (selection/detector/input_constants.hpp). A real detector's come from a calibration
// file, a table with a line for each input that differs:
//
//   input,gain,time,threshold,dead,pedestal,noise
//   0/3/7,0.0851,-2.4,,,512.3,2.4
//   12/4/0,,,,1,,
//
// The last two columns may be left out. Empty fields, and inputs that are not named, keep the
// nominal value. Pedestal and noise say which waveforms are quiet (trigger/level_tables.hpp); one
// that is wrong makes waveforms count as loud, and loses none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "selection/detector/detector.hpp"

namespace l3 {

struct channel_calibration {
  double gain = 0;                ///< MeV, or photoelectrons, per count of a pulse's height
  double time = 0;                ///< ns: so much later a pulse of this input appears
  std::uint32_t least_height = 0; ///< counts: lower pulses are noise to every cut
  bool dead = true;               ///< also an input that carries nothing
  double pedestal = 0;            ///< counts
  double noise = 0;               ///< counts, rms; 0: not known
};

/// All inputs, by their number in the detector.
using calibration = std::vector<channel_calibration>;

[[nodiscard]] calibration nominal_calibration(const detector& d);

/// Throw bad_file (config/toml/complaints.hpp).
[[nodiscard]] calibration parse_calibration(std::string_view text, const std::string& name,
                                            const detector& d);
[[nodiscard]] calibration read_calibration(const std::filesystem::path& file, const detector& d);

} // namespace l3
