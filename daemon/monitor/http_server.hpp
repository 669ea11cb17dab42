// SPDX-License-Identifier: Apache-2.0
// A small HTTP server for monitoring: a fixed set of pages, read-only (GET and HEAD), on a listener
// and a thread of its own. It is bounded against whoever connects: number of connections, size of a
// request, time for a request and for its answer; a slow client delays nobody else. What trouble
// the data path has does not touch it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace l3 {

struct http_response {
  unsigned status = 200;
  std::string content_type;
  std::string body;
};

/// Pages by path, each made anew for a request, on the server's thread.
using http_pages = std::map<std::string, std::function<http_response()>, std::less<>>;

struct http_limits {
  std::size_t connections = 32; ///< beyond it the oldest idle one is cut
  std::size_t header_bytes = 8192;
  std::chrono::milliseconds patience{5000}; ///< for a whole request, and for taking a whole answer
};

class http_server {
public:
  /// Serves from now on. Port 0 takes any free one. Throws std::runtime_error that names address
  /// and port if it cannot listen.
  http_server(const std::string& address, std::uint16_t port, http_pages pages,
              http_limits limits = {});
  /// Cuts connections and ends the thread.
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  [[nodiscard]] std::uint16_t port() const;

private:
  class listener;
  std::unique_ptr<listener> listener_;
};

} // namespace l3
