// SPDX-License-Identifier: Apache-2.0
// What a person does about a port that the system does not give.
#pragma once

#include <cerrno>
#include <string_view>

namespace l3 {

/// Follows the system's word for an error of bind(); empty where it says enough.
[[nodiscard]] constexpr std::string_view advice_on_port(int error) {
  return error == EADDRINUSE ? "; another daemon has the port, or another program, perhaps for a "
                               "connection that it "
                               "made: `koto-l3 doctor` says how to keep the ports for the daemon "
                               "(net.ipv4.ip_local_reserved_ports)"
                             : "";
}

} // namespace l3
