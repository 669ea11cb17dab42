// SPDX-License-Identifier: Apache-2.0
#include "tools/rehearsal/http_get.hpp"

#include <chrono>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace l3 {

std::optional<http_answer> http_get(std::uint16_t port, const std::string& target) {
  namespace asio = boost::asio;
  namespace beast = boost::beast;
  namespace http = beast::http;
  constexpr std::size_t body_limit = 16U << 20;

  asio::io_context io;
  beast::tcp_stream stream(io);
  beast::flat_buffer buffer;
  http::request<http::empty_body> request{http::verb::get, target, 11};
  request.set(http::field::host, "127.0.0.1");
  http::response_parser<http::string_body> parser;
  parser.body_limit(body_limit);

  // One deadline for the whole exchange: the stream's time limit covers each asynchronous step.
  bool done = false;
  stream.expires_after(std::chrono::seconds(1));
  stream.async_connect(
      {asio::ip::make_address("127.0.0.1"), port}, [&](beast::error_code connect_error) {
        if (connect_error) return;
        http::async_write(stream, request, [&](beast::error_code write_error, std::size_t) {
          if (write_error) return;
          http::async_read(stream, buffer, parser,
                           [&](beast::error_code read_error, std::size_t) { done = !read_error; });
        });
      });
  io.run();
  if (!done) return std::nullopt;
  return http_answer{parser.get().result_int(), std::move(parser.get().body())};
}

} // namespace l3
