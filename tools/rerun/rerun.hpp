// SPDX-License-Identifier: Apache-2.0
// Computes a batch on which a daemon's device failed again: with the configuration in its .l3batch
// file, on any executor, and on the serial one as reference. Prints the differences of executor and
// stored output from the reference, event by event.
#pragma once

#include <string>

#include "gpu/settings.hpp"

namespace l3 {

/// Prints to standard output; returns true if all outputs agree. Throws command_error.
[[nodiscard]] bool rerun(const std::string& file, const compute_settings& where);

} // namespace l3
