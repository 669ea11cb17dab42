// SPDX-License-Identifier: Apache-2.0
// Computes a batch on which a daemon's device failed again: with the configuration in its .l3batch
// file, on any executor, and on the serial one as reference. Prints event by event how the executor
// and the stored output differ from the reference.
#pragma once

#include <string>

#include "gpu/settings.hpp"

namespace l3 {

/// Prints to standard output; true if all outputs agree. Throws command_error.
[[nodiscard]] bool rerun(const std::string& file, const compute_settings& where);

} // namespace l3
