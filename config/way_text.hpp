// SPDX-License-Identifier: Apache-2.0
// How a connection of the output link is written: "10.1.0.2" (from this local address to
// forward.to), or "10.1.0.2 to tcp://10.1.0.1:42200".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "transport/output/settings.hpp"

namespace l3 {

/// Nothing if it is no connection. No name is looked up.
[[nodiscard]] std::optional<link_way> read_way(std::string_view text);
[[nodiscard]] std::string show_way(const link_way& way);

} // namespace l3
