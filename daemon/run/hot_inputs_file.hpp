// SPDX-License-Identifier: Apache-2.0
// The inputs that are masked because they were hot, as a file in the folder of the ledgers: a
// calibration table in which each is dead. A run that begins reads it, and a run that has ended
// adds the inputs that were hot to its end. A masked input gives no pulses, so no program can see
// that it is quiet again: a person takes its line away. The file never stops a run: one that cannot
// be used masks nothing, which is told.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "selection/detector/detector.hpp"

namespace l3 {

/// If more are hot, something else is wrong, and none is masked.
inline constexpr std::size_t most_masked_inputs = 100;

struct hot_inputs_file {
  std::vector<input_address> inputs; ///< none if the file is not there
  std::string text;
  std::string refusal; ///< why it masks nothing, and what to do; empty: nothing is wrong
};

[[nodiscard]] hot_inputs_file read_hot_inputs(const std::string& file, const detector& d);

struct added_inputs {
  std::vector<input_address> inputs; ///< none if the file had them all
  std::string refusal;               ///< why none was added; empty: nothing is wrong
};

/// `hot` in order. The file is replaced as a whole, or not at all.
[[nodiscard]] added_inputs add_hot_inputs(const std::string& file,
                                          std::span<const input_address> hot, const detector& d);

} // namespace l3
