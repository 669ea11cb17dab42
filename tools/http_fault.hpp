// SPDX-License-Identifier: Apache-2.0
// Distinguishes invalid HTTP responses (exit code 1) from missing ones (exit code 69).
#pragma once

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>

namespace l3 {

/// Whether the response is no HTTP, or is too long. Every other error means that no complete
/// response came.
[[nodiscard]] inline bool is_http_fault(const boost::beast::error_code& error) {
  using boost::beast::http::error::bad_version, boost::beast::http::error::end_of_stream;
  return error.category() == boost::beast::http::make_error_code(bad_version).category() &&
         error != end_of_stream;
}

} // namespace l3
