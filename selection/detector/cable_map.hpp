// SPDX-License-Identifier: Apache-2.0
// The cable map: which detector channel each input reads, as a table that people edit and that is
// checked.
//
//   input,detector,module,end,x,y,size
//   0/3/0,CSI,0,,-587.5,-587.5,25
//   14/7/3,CBAR,5,1,,,
//
// The calorimeter is called CSI: module is the crystal's number, x and y its place and size its
// side in mm. Counters have the names of the detector's description, and no place. A description
// with a map (`cables = "FILE"`) needs no rules about consecutive inputs, but the number of its
// crystals.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/toml/complaints.hpp"
#include "selection/detector/detector.hpp"

namespace l3 {

/// The calorimeter's name in cable maps.
inline constexpr std::string_view calorimeter_name = "CSI";

/// A row and the places of its fields.
struct cable {
  input_address at;
  std::uint32_t module = 0;
  std::uint32_t end = 0;
  double x = 0;
  double y = 0;
  double size = 0;
  source_place module_place;
  source_place place;                   ///< of x for a crystal, of the end for others
  std::optional<source_place> needless; ///< of x, y or size, if the row of a counter has one
};

class cable_map {
public:
  /// Reports what is wrong with single rows of any detector, including inputs that are not in the
  /// readout of `d` and repeated inputs.
  [[nodiscard]] static cable_map parse(std::string_view text, const std::string& name,
                                       const detector& d, complaints& wrong);

  /// All inputs of a counter with this many modules and ends; that of end e of module m is at m ·
  /// ends + e. Reports repeated and missing inputs.
  [[nodiscard]] std::vector<input_address> inputs_of(const std::string& counter,
                                                     std::uint32_t modules, std::uint32_t ends,
                                                     complaints& wrong) const;
  /// The `count` crystals by number. Reports repeated, missing and too high numbers, and
  /// overlapping crystals.
  [[nodiscard]] std::vector<cable> crystals(std::uint32_t count, complaints& wrong) const;
  /// Reports rows of unknown detectors, and counters' rows that have a place.
  void check_names(std::vector<std::string_view> known, complaints& wrong) const;

private:
  std::string name_;
  std::map<std::string, std::vector<cable>, std::less<>> of_; ///< by detector name
  std::map<std::string, source_place, std::less<>> first_;    ///< where the name occurs first
};

/// The cable map of a detector, even if it was described without one: a table that parses to the
/// same detector.
[[nodiscard]] std::string to_table(const detector& d);

/// Parses "crate/slot/channel"; nothing if the text is invalid.
[[nodiscard]] std::optional<input_address> parse_input(std::string_view text,
                                                       std::size_t parts = 3);

} // namespace l3
