// SPDX-License-Identifier: Apache-2.0
// A small HTTP server for monitoring: a fixed set of pages, read-only (GET and HEAD), on a listener
// and a thread of its own. It bounds the number of connections, the size of a request, and the time
// for a request and for its answer; a slow client delays no other. Trouble of the data path does
// not reach it.
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

/// Pages by path; the server's thread makes a page anew for each request.
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
  /// Cuts the connections and ends the thread.
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  [[nodiscard]] std::uint16_t port() const;

private:
  class listener;
  std::unique_ptr<listener> listener_;
};

} // namespace l3
