// SPDX-License-Identifier: Apache-2.0
// Asks monitoring addresses for pages: those of daemons and receivers.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/system/name_lookup.hpp"

namespace l3 {

struct http_url {
  std::string host; ///< a name or a number; of IPv6 without brackets
  std::uint16_t port = 0;
  std::string target = "/";

  [[nodiscard]] std::string text() const; ///< "http://[::1]:9420/status"
};

/// "http://node1:9420", "node1", "10.1.0.1:9420", "[::1]:9420": without a port 9420, which is the
/// daemon's; "9420" is that port of this machine. Throws std::invalid_argument.
[[nodiscard]] http_url parse_url(std::string_view text, std::string target);

struct http_answer {
  unsigned status = 0; ///< 0: none
  std::string body;
  std::string failure; ///< why there is no answer
  /// Something answers at the address, but with another status, with too much, or not in HTTP.
  bool wrong = false;

  [[nodiscard]] bool good() const { return status == 200; }
};

/// GET each, all at once; an answer that has not come within this time, or has more than 16 MiB, is
/// none. In the order of the URLs. A name that is being looked up by then is not waited for.
/// `ask_for_name`: but in tests the system.
[[nodiscard]] std::vector<http_answer>
http_get(std::span<const http_url> urls, std::chrono::milliseconds patience,
         found_addresses (*ask_for_name)(const std::string&) = addresses_of);

/// From this machine, within a second.
[[nodiscard]] http_answer http_get(std::uint16_t port, const std::string& target);

} // namespace l3
