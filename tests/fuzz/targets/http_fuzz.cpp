// SPDX-License-Identifier: Apache-2.0
// Any bytes to the monitoring's port: the server answers as HTTP does, or closes, within its
// limits, and the next one is served.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "monitor/http_server.hpp"
#include "tests/fuzz/targets/fuzz.hpp"
#include "tests/fuzz/targets/loopback.hpp"

namespace l3::test {
namespace {

constexpr std::string_view page = "all is well\n";

const http_server& server() {
  static const http_server one("127.0.0.1", 0,
                               {{"/healthz",
                                 [] {
                                   return http_response{200, "text/plain", std::string(page)};
                                 }}},
                               http_limits{.connections = 4, .header_bytes = 1024});
  return one;
}

} // namespace

void fuzz(fuzz_input& in) {
  loopback_client any(server().port());
  any.send(in.rest());
  any.half_close();
  const auto answer = any.read_all();
  require(answer.empty() || answer.starts_with("HTTP/1."), "an answer is HTTP, or none");

  loopback_client good(server().port());
  good.send(std::as_bytes(
      std::span(std::string_view("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"))));
  const auto well = good.read_all();
  require(well.starts_with("HTTP/1.1 200") && well.ends_with(page), "the next one is served");
}

} // namespace l3::test
