// SPDX-License-Identifier: Apache-2.0
#include "tools/run/run_words.hpp"

#include <chrono>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/errc.hpp>
#include <fmt/format.h>

#include "monitor/http_client.hpp"
#include "tools/command_error.hpp"
#include "tools/status/http_get.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using local = asio::local::stream_protocol;

/// A start checks whether a receiver listens, and may read a menu from a slow disk.
constexpr std::chrono::seconds patience{10};
constexpr std::size_t longest_answer = 1 << 20;

} // namespace

control_answer ask_control(const std::string& socket, const std::string& path,
                           const std::string& body) {
  asio::io_context io;
  beast::basic_stream<local> stream(io);
  beast::flat_buffer buffer;
  http::request<http::string_body> request{body.empty() ? http::verb::get : http::verb::post, path,
                                           11};
  request.set(http::field::host, "localhost");
  request.keep_alive(false);
  request.body() = body;
  request.prepare_payload();
  http::response_parser<http::string_body> response;
  response.body_limit(longest_answer);
  beast::error_code failed = beast::error::timeout;
  try {
    stream.expires_after(patience);
    stream.async_connect(local::endpoint(socket), [&](beast::error_code not_connected) {
      if (!(failed = not_connected)) exchange_http(stream, request, buffer, response, failed);
    });
    io.run();
  } catch (const boost::system::system_error& e) { // the name is too long
    failed = e.code();
  }
  const auto fail = [&](const std::string& why, int code) {
    throw command_error(
        fmt::format("no run control answers at {}: {} (run.control of the daemon, --socket)",
                    socket, why),
        code);
  };
  if (failed == boost::system::errc::permission_denied)
    throw command_error(
        fmt::format("no permission to open {}: it is open to the user and the group of the socket "
                    "(run.control of the daemon, --socket)",
                    socket),
        exit_missing_resource);
  if (failed == http::error::body_limit) fail("the answer has more than 1 MiB", exit_failure);
  if (failed) fail(failed.message(), is_http_fault(failed) ? exit_failure : exit_missing_resource);
  const std::string& text = response.get().body();
  if (response.get().result() == http::status::payload_too_large) { // plain text
    boost::json::array reasons;
    reasons.emplace_back(text.substr(0, text.find('\n')));
    return {response.get().result_int(), {{"reasons", std::move(reasons)}}};
  }
  boost::json::error_code no_json;
  const auto value = boost::json::parse(text, no_json);
  if (no_json || !value.is_object()) fail("the answer is not a JSON object", exit_failure);
  return {response.get().result_int(), value.as_object()};
}

} // namespace l3
