// SPDX-License-Identifier: Apache-2.0
// The options of a command that runs as a service, read from a TOML file: `secret_key = "…"` is
// --secret-key. What the command line names itself comes before the file.
#pragma once

#include "tools/command_line.hpp"

namespace l3 {

/// Adds --config FILE to a command. Call it before any other option is added: CLI11 runs options in
/// that order, so that the file can set those behind it. A mistake in the file is a command_error
/// of exit_bad_configuration with the place.
void add_options_file(command_line command);

} // namespace l3
