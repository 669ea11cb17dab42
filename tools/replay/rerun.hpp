// SPDX-License-Identifier: Apache-2.0
// A batch on which a daemon's device failed, computed again: with the configuration that its
// .l3batch file holds, on any executor, beside the serial one, which is the reference. Whatever of
// the three (the executor, the reference, what the file says came out) differs is told event by
// event.
#pragma once

#include <string>

#include "gpu/settings.hpp"

namespace l3 {

/// To standard output; true if all that there is agrees. Throws command_error.
[[nodiscard]] bool rerun(const std::string& file, const compute_settings& where);

} // namespace l3
