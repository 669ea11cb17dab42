// SPDX-License-Identifier: Apache-2.0
// Tells what answers wrongly from what does not answer: a command ends with exit code 1 of the one,
// with 69 of the other.
#pragma once

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>

namespace l3 {

/// What came is no HTTP, or more than is read. Every other error says that no answer came, or not
/// all of it.
[[nodiscard]] inline bool is_http_fault(const boost::beast::error_code& error) {
  using boost::beast::http::error::bad_version, boost::beast::http::error::end_of_stream;
  return error.category() == boost::beast::http::make_error_code(bad_version).category() &&
         error != end_of_stream;
}

} // namespace l3
