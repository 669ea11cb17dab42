// SPDX-License-Identifier: Apache-2.0
// The options of a bench that say where its kernels run.
#pragma once

#include <CLI/CLI.hpp>

#include "gpu/settings.hpp"

namespace l3 {

/// --backend and --threads; `settings` lives as long as the command.
void add_compute_options(CLI::App& command, compute_settings& settings);

} // namespace l3
