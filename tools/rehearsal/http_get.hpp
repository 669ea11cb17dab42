// SPDX-License-Identifier: Apache-2.0
// Asks the daemon's monitoring address for a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace l3 {

struct http_answer {
  unsigned status = 0;
  std::string body;
};

/// GET http://127.0.0.1:port/target; nothing without an answer within a second.
[[nodiscard]] std::optional<http_answer> http_get(std::uint16_t port, const std::string& target);

} // namespace l3
