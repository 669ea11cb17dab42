// SPDX-License-Identifier: Apache-2.0
// The user's selection: the names of its files, and its mode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace l3 {

/// The word used instead of a file name for the menu, and the detector, that are compiled into the
/// programs.
inline constexpr const char* built_in = "built-in";

/// For the end of a message about an unreadable file: suggests the word if the name has the same
/// letters.
[[nodiscard]] inline std::string built_in_hint(std::string_view name) {
  constexpr char small = 0x20; // the bit between small and capital letters
  std::string letters;
  for (const char c : name.substr(name.rfind('/') + 1))
    if (const char letter = static_cast<char>(c | small); letter >= 'a' && letter <= 'z')
      letters += letter;
  return letters == "builtin" ? R"(; did you mean "built-in"?)" : "";
}

enum class selection_mode : std::uint8_t {
  select, ///< the lines decide which events are kept
  record, ///< every event is kept with the lines' decisions
};

struct selection_files {
  std::string lines;               ///< cuts, counters, lines; empty: all events are kept
  std::string detector = built_in; ///< channel map and geometry; empty: built-in
  std::string calibration;         ///< empty: the detector's nominal one
  selection_mode mode = selection_mode::select;
  std::string shadow{};             ///< file of the shadow menu, which only judges; empty: none
  std::uint32_t shadow_one_in = 10; ///< one batch in this many
};

/// The files of the shadow menu in `files`. It uses the mode of the active menu: if
/// every event is recorded, both keep all waveforms, so that their bytes can be
/// compared.
[[nodiscard]] inline selection_files shadow_of(selection_files files) {
  files.lines = std::exchange(files.shadow, {});
  return files;
}

} // namespace l3
