// SPDX-License-Identifier: Apache-2.0
// Parses the fault that a test of the whole daemon injects into its device (KOTO_L3_TEST_FAULT):
// its kind, the frames that it hits, and for hang and stall its duration: "error:every=100",
// "hang:at=5:for=3 s", "dead:from=10", "no_memory". An empty text means no fault.
#pragma once

#include <optional>
#include <string_view>

#include "gpu/settings.hpp"

namespace l3 {

/// Returns nothing if the text does not have this form.
[[nodiscard]] std::optional<fault_plan> read_fault(std::string_view text);

} // namespace l3
