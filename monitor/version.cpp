// SPDX-License-Identifier: Apache-2.0
#include "monitor/version.hpp"

namespace l3 {

std::string_view version() { return L3_VERSION; }

// Weak: l3_name_commit() replaces it in programs.
[[gnu::weak]] std::string_view commit() { return "unknown"; }

} // namespace l3
