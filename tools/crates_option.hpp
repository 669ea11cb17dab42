// SPDX-License-Identifier: Apache-2.0
// --crates: the readout of a cable map.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "config/readout_list.hpp"
#include "tools/command_error.hpp"

namespace l3 {

inline CLI::Option* add_crates_option(CLI::App& command, std::vector<std::string>& crates) {
  return command.add_option(
      "--crates", crates,
      "the readout, as in readout.crates: \"0-10: 16 x 125 MHz\" …; by default KOTO's");
}

/// Throws command_error.
[[nodiscard]] inline readout readout_of(const std::vector<std::string>& entries) {
  if (entries.empty()) return readout::koto();
  readout all;
  for (const std::string& entry : entries) {
    const auto crates = read_crates(entry);
    if (const auto* const wrong = std::get_if<std::string>(&crates))
      throw command_error(fmt::format("--crates: \"{}\" {}", entry, *wrong), exit_usage);
    for (const crate_readout& c : std::get<0>(crates)) all.crates.push_back(c);
  }
  return all;
}

} // namespace l3
