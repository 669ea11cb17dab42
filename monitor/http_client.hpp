// SPDX-License-Identifier: Apache-2.0
// The look-up of a host's endpoints and the exchange of a request and a response, which all HTTP
// clients share. Both have a time limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "transport/format/time.hpp"
#include "transport/system/name_lookup.hpp"

namespace l3 {

struct found_endpoints {
  std::vector<boost::asio::ip::tcp::endpoint> at;
  std::string failure; ///< the reason, if `at` is empty
};

/// Looks up the host until the given time at most. `ask_for_name`: the system's look-up, except in
/// tests.
[[nodiscard]] inline found_endpoints
find_endpoints(const std::string& host, std::uint16_t port, time_point until,
               found_addresses (*ask_for_name)(const std::string&) = addresses_of) {
  auto asked = look_up(host, ask_for_name);
  if (asked.wait_until(until) != std::future_status::ready) return {{}, silent_name_servers()};
  found_addresses found = asked.get();
  found_endpoints all{{}, std::move(found.failure)};
  for (const std::string& number : found.addresses) {
    boost::system::error_code no_address;
    const auto address = boost::asio::ip::make_address(number, no_address);
    if (!no_address) all.at.emplace_back(address, port);
  }
  return all;
}

/// Writes the request and reads the response, when the stream's context runs. All arguments must
/// outlive that. `failed` is set if something was wrong, and cleared otherwise.
template <class Stream, class Request, class Response>
void exchange_http(Stream& stream, Request& request, boost::beast::flat_buffer& buffer,
                   Response& response, boost::beast::error_code& failed) {
  using error_code = boost::beast::error_code;
  namespace http = boost::beast::http;
  http::async_write(stream, request, [&](error_code not_written, std::size_t) {
    if ((failed = not_written)) return;
    http::async_read(stream, buffer, response,
                     [&](error_code not_read, std::size_t) { failed = not_read; });
  });
}

} // namespace l3
