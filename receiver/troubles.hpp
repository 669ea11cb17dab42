// SPDX-License-Identifier: Apache-2.0
// The table of a receiver's troubles, for its pages, its log, its metrics, and the alert rules.
#pragma once

#include <array>

#include "monitor/trouble.hpp"
#include "receiver/snapshot.hpp"

namespace l3 {

inline constexpr std::size_t receive_trouble_kinds = 8;
[[nodiscard]] const std::array<trouble_kind<receive_snapshot>, receive_trouble_kinds>&
receive_troubles();

} // namespace l3
