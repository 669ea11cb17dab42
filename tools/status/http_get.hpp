// SPDX-License-Identifier: Apache-2.0
// Gets pages from the monitoring addresses of daemons and receivers.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>

#include "transport/system/name_lookup.hpp"

namespace l3 {

struct http_url {
  std::string host; ///< name or numeric address; IPv6 without brackets
  std::uint16_t port = 0;
  std::string target = "/";

  [[nodiscard]] std::string text() const; ///< "http://[::1]:9420/status"
};

/// Parses "http://node1:9420", "node1", "10.1.0.1:9420", "[::1]:9420". The default port is 9420,
/// the daemon's; "9420" is that port of this machine. Throws std::invalid_argument.
[[nodiscard]] http_url parse_url(std::string_view text, std::string target);

struct http_answer {
  unsigned status = 0; ///< 0: no response
  std::string body;
  std::string failure; ///< why there is no response
  /// Something responds, but with another status, with too much, or not in HTTP.
  bool wrong = false;

  [[nodiscard]] bool good() const { return status == 200; }
};

/// Gets all URLs in parallel, in order. A response that comes too late, or exceeds 16 MiB, counts
/// as missing. Slow name look-ups are not waited for. `ask_for_name`: the system's look-up, except
/// in tests.
[[nodiscard]] std::vector<http_answer>
http_get(std::span<const http_url> urls, std::chrono::milliseconds patience,
         found_addresses (*ask_for_name)(const std::string&) = addresses_of);

/// From this machine, within a second.
[[nodiscard]] http_answer http_get(std::uint16_t port, const std::string& target);

// Distinguishes invalid HTTP responses (exit code 1) from missing ones (exit code 69).

/// Whether the response is no HTTP, or is too long. Every other error means that no complete
/// response came.
[[nodiscard]] inline bool is_http_fault(const boost::beast::error_code& error) {
  using boost::beast::http::error::bad_version, boost::beast::http::error::end_of_stream;
  return error.category() == boost::beast::http::make_error_code(bad_version).category() &&
         error != end_of_stream;
}

} // namespace l3
