// SPDX-License-Identifier: Apache-2.0
// A small HTTP server with a fixed set of read-only pages (GET and HEAD) and actions (POST), on its
// own listener and thread. It listens on a port, or on a unix socket whose permissions say who may
// connect. It limits the number of connections, the size of a request, and the time for a request
// and its answer; a slow client delays no other. It works independently of the data path.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace l3 {

/// Immutable text with shared copies: any number of slow viewers of a page need the memory of one.
class shared_text {
public:
  // NOLINTNEXTLINE(google-explicit-constructor): a conversion of the same text.
  shared_text(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}

  [[nodiscard]] const std::string& operator*() const { return *text_; }
  [[nodiscard]] const std::string* operator->() const { return text_.get(); }

private:
  std::shared_ptr<const std::string> text_;
};

struct http_response {
  unsigned status = 200;
  std::string content_type;
  shared_text body;
};

/// Pages by path; the server's thread renders a page for each request.
using http_pages = std::map<std::string, std::function<http_response()>, std::less<>>;

/// Actions by path; the server's thread calls them with the body of the request.
using http_actions =
    std::map<std::string, std::function<http_response(std::string_view)>, std::less<>>;

struct http_limits {
  std::size_t connections = 128; ///< further ones wait until one has ended
  std::size_t header_bytes = 8192;
  std::size_t body_bytes = 64 << 10;        ///< of a request to an action
  std::chrono::milliseconds patience{5000}; ///< for a whole request, and for sending a whole answer
};

class http_server {
public:
  /// Serves from now on. Port 0 selects a free port. Throws std::runtime_error, with address and
  /// port, if it cannot listen.
  http_server(const std::string& address, std::uint16_t port, http_pages pages,
              http_limits limits = {});
  /// Serves a unix socket, which it creates for owner and group. It replaces a socket that no
  /// program serves any more.
  http_server(const std::string& unix_socket, http_pages pages, http_actions actions,
              http_limits limits = {});
  /// Closes the connections, ends the thread, and removes the unix socket.
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  [[nodiscard]] std::uint16_t port() const;

private:
  class listener;
  std::unique_ptr<listener> listener_;
};

// Helpers for the pages of http_server, and the page that all programs have.

/// Escapes text for a place between tags.
[[nodiscard]] inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '&': out += "&amp;"; break;
    default: out += c;
    }
  }
  return out;
}

[[nodiscard]] inline http_response plain_text(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n"};
}
/// docs/runbook.md as an HTML page: the meaning of each warning and alarm, and the remedy.
extern const std::string_view runbook;

[[nodiscard]] inline http_response html(shared_text page) {
  return {200, "text/html; charset=utf-8", std::move(page)};
}
[[nodiscard]] inline http_response prometheus_text(shared_text text) {
  return {200, "text/plain; version=0.0.4; charset=utf-8", std::move(text)};
}
[[nodiscard]] inline http_response json_text(shared_text text) {
  return {200, "application/json", std::move(text)};
}

} // namespace l3
