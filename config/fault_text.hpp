// SPDX-License-Identifier: Apache-2.0
// How a test of the whole daemon names the fault of its device, in KOTO_L3_TEST_FAULT: its kind,
// which frames it hits, and for hang and stall how long it lasts: "error:every=100",
// "hang:at=5:for=3 s", "dead:from=10", "no_memory". The empty text is no fault.
#pragma once

#include <optional>
#include <string_view>

#include "gpu/settings.hpp"

namespace l3 {

/// Empty if the text is not of this form.
[[nodiscard]] std::optional<fault_plan> read_fault(std::string_view text);

} // namespace l3
