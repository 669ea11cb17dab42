// SPDX-License-Identifier: Apache-2.0
// Reads the options of a service command from a TOML file: `secret_key = "…"` is --secret-key.
// Options on the command line override the file.
#pragma once

#include "tools/command_line.hpp"

namespace l3 {

/// Adds --config FILE to a command. Call it before adding other options: CLI11 processes options in
/// that order, so the file can set the later ones. A mistake in the file is a command_error of
/// exit_bad_configuration with its place.
void add_options_file(command_line command);

} // namespace l3
