// SPDX-License-Identifier: Apache-2.0
#include "tools/status/http_get.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <stdexcept>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "config/endpoint.hpp"
#include "monitor/http_client.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

constexpr std::uint16_t daemons_port = 9420;

std::string why(const beast::error_code& error, std::chrono::milliseconds patience) {
  if (error == beast::error::timeout)
    return fmt::format("no answer within {:g} s", std::chrono::duration<double>(patience).count());
  if (error == http::error::body_limit) return "its answer is larger than 16 MiB";
  if (error == http::error::end_of_stream) return "it closed the connection without an answer";
  if (is_http_fault(error)) return "it does not speak HTTP";
  return error.message();
}

http_answer ask(const http_url& url, std::chrono::milliseconds patience,
                found_addresses (*ask_for_name)(const std::string&)) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const found_endpoints found = find_endpoints(url.host, url.port, until, ask_for_name);
  if (found.at.empty()) return {0, {}, found.failure};

  http::request<http::empty_body> request{http::verb::get, url.target, 11};
  request.set(http::field::host, url.host);
  http::response_parser<http::string_body> response;
  constexpr std::size_t body_limit = 16U << 20;
  response.body_limit(body_limit);
  asio::io_context io;
  beast::tcp_stream stream(io);
  beast::flat_buffer buffer;
  beast::error_code failed = beast::error::timeout;
  stream.expires_at(until);
  stream.async_connect(found.at, [&](beast::error_code not_connected, const auto&) {
    if (!(failed = not_connected)) exchange_http(stream, request, buffer, response, failed);
  });
  io.run();
  if (failed) return {0, {}, why(failed, patience), is_http_fault(failed)};
  http_answer answer{response.get().result_int(), std::move(response.get().body()), {}};
  if (answer.good()) return answer;
  answer.failure = fmt::format("HTTP status {}", answer.status);
  answer.wrong = true;
  return answer;
}

} // namespace

std::string http_url::text() const {
  return fmt::format("http://{}{}", text_of(internet_address{host, port}), target);
}

http_url parse_url(std::string_view whole, std::string target) {
  const auto refuse = [&] {
    throw std::invalid_argument(fmt::format(
        "'{}' is not an address like node1:9420, http://10.1.0.1:9420 or [::1]:9420", whole));
  };
  constexpr std::string_view scheme = "http://";
  std::string_view text = whole;
  if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
  if (const auto slash = text.find('/'); slash != text.npos) {
    const auto path = text.substr(slash);
    if (path != "/" && path != target) refuse();
    text = text.substr(0, slash);
  }
  std::string at(text);
  if (at.find_first_not_of("0123456789") == at.npos) at = "127.0.0.1:" + at;
  if (at.find(':') == at.npos || at.back() == ']') at += fmt::format(":{}", daemons_port);
  auto address = read_address(at);
  if (!address || address->port == 0) refuse();
  return {std::move(address->host), address->port, std::move(target)};
}

std::vector<http_answer> http_get(std::span<const http_url> urls,
                                  std::chrono::milliseconds patience,
                                  found_addresses (*ask_for_name)(const std::string&)) {
  std::vector<std::future<http_answer>> asked;
  asked.reserve(urls.size());
  for (const http_url& url : urls)
    asked.push_back(std::async(std::launch::async, ask, url, patience, ask_for_name));
  std::vector<http_answer> answers;
  answers.reserve(urls.size());
  for (auto& answer : asked) answers.push_back(answer.get());
  return answers;
}

http_answer http_get(std::uint16_t port, const std::string& target) {
  const std::array url{http_url{"127.0.0.1", port, target}};
  return http_get(url, std::chrono::seconds(1)).front();
}

} // namespace l3
