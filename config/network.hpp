// SPDX-License-Identifier: Apache-2.0
// How a network is written: "10.1.0.0/16" or "2001:db8::/32"; "10.1.2.3" or "2001:db8::7" is one
// machine.
#pragma once

#include <optional>
#include <string>

#include "transport/format/source_list.hpp"

namespace l3 {

/// Nothing if the text is no network, or sets bits beyond those of the network: its meaning is then
/// unclear.
[[nodiscard]] std::optional<source_network> read_network(const std::string& text);
[[nodiscard]] std::string show_network(const source_network& network);

} // namespace l3
