// SPDX-License-Identifier: Apache-2.0
#include "tools/status/http_get.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <future>
#include <stdexcept>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "config/endpoint.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

constexpr std::uint16_t daemons_port = 9420;

std::string why(const beast::error_code& error, std::chrono::milliseconds patience) {
  if (error == beast::error::timeout || error == asio::error::operation_aborted)
    return fmt::format("no answer within {:g} s", std::chrono::duration<double>(patience).count());
  if (error == http::error::body_limit) return "its answer is larger than 16 MiB";
  if (error == http::error::end_of_stream) return "it closed the connection without an answer";
  if (is_http_fault(error)) return "it does not speak HTTP";
  return error.message();
}

/// One request; the timer covers all its steps.
class exchange {
public:
  exchange(asio::io_context& io, const http_url& url, std::chrono::milliseconds patience,
           found_addresses (*ask_for_name)(const std::string&))
      : timer_(io), look_again_(io), stream_(io), patience_(patience), port_(url.port),
        found_(look_up(url.host, ask_for_name)) {
    constexpr std::size_t body_limit = 16U << 20;
    request_.method(http::verb::get);
    request_.target(url.target);
    request_.version(11);
    request_.set(http::field::host, url.host);
    parser_.body_limit(body_limit);
    timer_.expires_after(patience);
    timer_.async_wait([this](beast::error_code cancelled) {
      if (cancelled) return;
      if (answer_.failure.empty()) answer_.failure = why(beast::error::timeout, patience_);
      look_again_.cancel();
      stream_.cancel();
    });
    stream_.expires_never();
    await_name();
  }

  [[nodiscard]] http_answer take() { return std::move(answer_); }

private:
  bool failed(const beast::error_code& error) {
    if (!error) return false;
    if (answer_.failure.empty()) {
      answer_.failure = why(error, patience_);
      answer_.wrong = is_http_fault(error);
    }
    timer_.cancel();
    return true;
  }
  void await_name() {
    if (found_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      return connect(found_.get());
    look_again_.expires_after(std::chrono::milliseconds(2));
    look_again_.async_wait([this](beast::error_code cancelled) {
      if (!cancelled) await_name();
    });
  }
  void connect(const found_addresses& found) {
    for (const std::string& number : found.addresses) {
      beast::error_code none;
      const auto address = asio::ip::make_address(number, none);
      if (!none) at_.emplace_back(address, port_);
    }
    if (at_.empty()) {
      answer_.failure = found.failure.empty() ? "the name has no address" : found.failure;
      timer_.cancel();
      return;
    }
    stream_.async_connect(at_, [this](beast::error_code error, const auto&) {
      if (!failed(error)) ask();
    });
  }
  void ask() {
    http::async_write(stream_, request_, [this](beast::error_code error, std::size_t) {
      if (failed(error)) return;
      http::async_read(stream_, buffer_, parser_, [this](beast::error_code e, std::size_t) {
        if (failed(e)) return;
        timer_.cancel();
        answer_.status = parser_.get().result_int();
        answer_.body = std::move(parser_.get().body());
        if (answer_.good()) return;
        answer_.failure = fmt::format("HTTP status {}", answer_.status);
        answer_.wrong = true;
      });
    });
  }

  asio::steady_timer timer_;
  asio::steady_timer look_again_;
  beast::tcp_stream stream_;
  std::chrono::milliseconds patience_;
  std::uint16_t port_;
  std::future<found_addresses> found_;
  std::vector<asio::ip::tcp::endpoint> at_;
  beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  http::response_parser<http::string_body> parser_;
  http_answer answer_;
};

} // namespace

std::string http_url::text() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}:{}{}", is_v6 ? "[" + host + "]" : host, port, target);
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
  http_url url{std::string(text), daemons_port, std::move(target)};
  // A bare port: the system would read the number as an IPv4 address.
  if (text.find_first_not_of("0123456789") == text.npos) {
    const auto port = read_port(text);
    if (!port || *port == 0) refuse();
    return {"127.0.0.1", *port, std::move(url.target)};
  }
  const auto colon = text.rfind(':');
  const bool has_port =
      colon != text.npos && (text.find(':') == colon || text.substr(0, colon).ends_with(']'));
  if (has_port) {
    const auto port = read_port(text.substr(colon + 1));
    if (!port || *port == 0) refuse();
    url.port = *port;
    url.host = text.substr(0, colon);
  }
  if (url.host.size() > 2 && url.host.front() == '[' && url.host.back() == ']')
    url.host = url.host.substr(1, url.host.size() - 2);
  constexpr std::size_t longest_name = 253;
  const bool plain = std::ranges::all_of(
      url.host, [](char c) { return c > ' ' && c < 0x7f && c != '[' && c != ']'; });
  if (url.host.empty() || url.host.size() > longest_name || !plain) refuse();
  return url;
}

std::vector<http_answer> http_get(std::span<const http_url> urls,
                                  std::chrono::milliseconds patience,
                                  found_addresses (*ask_for_name)(const std::string&)) {
  asio::io_context io;
  std::deque<exchange> all;
  for (const http_url& url : urls) all.emplace_back(io, url, patience, ask_for_name);
  io.run_for(patience + std::chrono::milliseconds(200));
  std::vector<http_answer> answers;
  answers.reserve(all.size());
  for (exchange& e : all) answers.push_back(e.take());
  return answers;
}

http_answer http_get(std::uint16_t port, const std::string& target) {
  const std::array url{http_url{"127.0.0.1", port, target}};
  return http_get(url, std::chrono::seconds(1)).front();
}

} // namespace l3
