// SPDX-License-Identifier: Apache-2.0
// The HTTP server against clients that ask properly, wrongly, slowly, or not at all.
#include "monitor/http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

namespace l3 {
namespace {

using namespace std::chrono_literals;

const http_pages& test_pages() {
  static const http_pages pages{
      {"/",
       [] {
         return http_response{200, "text/plain", std::string("home")};
       }},
      {"/large",
       [] {
         return http_response{200, "text/plain", std::string(32 << 20, 'x')};
       }},
      {"/busy",
       [] {
         return http_response{503, "text/plain", std::string("busy")};
       }},
      {"/broken", []() -> http_response { throw std::runtime_error("it broke"); }},
  };
  return pages;
}

// A client that waits at most ten seconds for anything.
class client {
public:
  explicit client(const http_server& server) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval limit{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(server.port());
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  }
  ~client() { close(socket_); }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  void send(const std::string& text) const {
    (void)::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// As many bytes as the server's end takes.
  [[nodiscard]] std::size_t send_until_cut(std::size_t most) const {
    const std::string part(1 << 16, 'x');
    std::size_t all = 0;
    for (ssize_t n;
         all < most && (n = ::send(socket_, part.data(), part.size(), MSG_NOSIGNAL)) > 0;)
      all += static_cast<std::size_t>(n);
    return all;
  }
  /// All that comes until the server closes.
  [[nodiscard]] std::string rest() const {
    std::string all;
    char part[4096];
    for (ssize_t n; (n = recv(socket_, part, sizeof part, 0)) > 0;)
      all.append(part, static_cast<std::size_t>(n));
    return all;
  }
  /// The next so many bytes.
  [[nodiscard]] std::string take(std::size_t bytes) const {
    std::string all(bytes, '\0');
    all.resize(static_cast<std::size_t>(
        std::max<ssize_t>(0, recv(socket_, all.data(), bytes, MSG_WAITALL))));
    return all;
  }

private:
  int socket_;
};

std::string answer_to(const http_server& server, const std::string& request) {
  const client c(server);
  c.send(request);
  return c.rest();
}
std::string get(const http_server& server, const std::string& target) {
  return answer_to(server, "GET " + target + " HTTP/1.1\r\nHost: l3\r\nConnection: close\r\n\r\n");
}
std::string status_line(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }

TEST(http_server, serves_its_pages) {
  const http_server server("127.0.0.1", 0, test_pages());
  const std::string answer = get(server, "/");
  EXPECT_EQ(status_line(answer), "HTTP/1.1 200 OK");
  EXPECT_TRUE(answer.ends_with("\r\n\r\nhome")) << answer;
  EXPECT_EQ(status_line(get(server, "/?refresh=5")), "HTTP/1.1 200 OK");
  EXPECT_EQ(status_line(get(server, "/busy")), "HTTP/1.1 503 Service Unavailable");
  EXPECT_EQ(status_line(get(server, "/nothing")), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(status_line(get(server, "/broken")), "HTTP/1.1 500 Internal Server Error");
}

TEST(http_server, head_is_get_without_the_body) {
  const http_server server("127.0.0.1", 0, test_pages());
  const std::string answer =
      answer_to(server, "HEAD / HTTP/1.1\r\nHost: l3\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_line(answer), "HTTP/1.1 200 OK");
  EXPECT_NE(answer.find("Content-Length: 4\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST(http_server, answers_several_requests_on_one_connection) {
  const http_server server("127.0.0.1", 0, test_pages());
  const client c(server);
  c.send("GET / HTTP/1.1\r\nHost: l3\r\n\r\nGET /busy HTTP/1.1\r\nHost: l3\r\nConnection: "
         "close\r\n\r\n");
  const std::string both = c.rest();
  EXPECT_NE(both.find("200 OK"), std::string::npos);
  EXPECT_NE(both.find("503 Service"), std::string::npos);
}

TEST(http_server, is_read_only) {
  const http_server server("127.0.0.1", 0, test_pages());
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const std::string answer = answer_to(
        server, std::string(method) + " / HTTP/1.1\r\nHost: l3\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_EQ(status_line(answer), "HTTP/1.1 405 Method Not Allowed") << method;
    EXPECT_NE(answer.find("Allow: GET, HEAD\r\n"), std::string::npos);
  }
  EXPECT_EQ(
      status_line(answer_to(server, "GET / HTTP/1.1\r\nHost: l3\r\nContent-Length: 3\r\n\r\nabc")),
      "HTTP/1.1 400 Bad Request");
}

TEST(http_server, refuses_what_is_not_http) {
  const http_server server("127.0.0.1", 0, test_pages());
  EXPECT_EQ(status_line(answer_to(server, "rubbish\r\n\r\n")), "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(status_line(answer_to(server, std::string("\0\1\2\3\r\n\r\n", 8))),
            "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(status_line(
                answer_to(server, "GET / HTTP/1.1\r\nX: " + std::string(20000, 'y') + "\r\n\r\n")),
            "HTTP/1.1 431 Request Header Fields Too Large");
  EXPECT_EQ(status_line(get(server, "/")), "HTTP/1.1 200 OK");
}

TEST(http_server, takes_fields_of_8_kib_and_none_that_are_longer) {
  const http_server server("127.0.0.1", 0, test_pages());
  const auto fields_of = [](std::size_t bytes) {
    return "GET / HTTP/1.1\r\nX: " + std::string(bytes - 7, 'y') + "\r\n\r\n";
  };
  EXPECT_EQ(status_line(answer_to(server, fields_of(8 << 10))), "HTTP/1.1 200 OK");
  EXPECT_EQ(status_line(answer_to(server, fields_of((8 << 10) + 1))),
            "HTTP/1.1 431 Request Header Fields Too Large");
  EXPECT_EQ(
      status_line(answer_to(server, "GET /" + std::string(8 << 10, 'y') + " HTTP/1.1\r\n\r\n")),
      "HTTP/1.1 431 Request Header Fields Too Large");
}

TEST(http_server, clients_that_ask_nothing_or_take_nothing_delay_no_other) {
  const http_server server("127.0.0.1", 0, test_pages());
  const client silent(server);
  const client half(server);
  half.send("GET / HT");
  const client reads_nothing(server);
  reads_nothing.send("GET /large HTTP/1.1\r\nHost: l3\r\n\r\n");
  EXPECT_EQ(reads_nothing.take(15), "HTTP/1.1 200 OK");
  EXPECT_EQ(status_line(get(server, "/")), "HTTP/1.1 200 OK");
}

/// So that the answer arrives; the system holds some more.
TEST(http_server, reads_16_mib_of_a_body_that_it_refuses) {
  const http_server server("127.0.0.1", 0, test_pages());
  const client endless(server);
  endless.send("GET / HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n");
  const std::size_t sent = endless.send_until_cut(std::size_t{1} << 30);
  EXPECT_GE(sent, std::size_t{16} << 20);
  EXPECT_LT(sent, std::size_t{32} << 20);
}

TEST(http_server, who_does_not_take_an_answer_is_cut) {
  http_limits limits;
  limits.connections = 1;
  limits.patience = 50ms;
  const http_server server("127.0.0.1", 0, test_pages(), limits);
  const client reads_nothing(server);
  reads_nothing.send("GET /large HTTP/1.1\r\nHost: l3\r\n\r\n");
  // The time limit is also the next client's: it asks again where the processor is away for longer.
  const auto end = std::chrono::steady_clock::now() + 1min;
  std::string answer;
  while (status_line(answer) != "HTTP/1.1 200 OK" && std::chrono::steady_clock::now() < end)
    answer = get(server, "/");
  EXPECT_EQ(status_line(answer), "HTTP/1.1 200 OK");
}

TEST(http_server, a_port_in_use_is_told_with_address_and_port) {
  const http_server first("127.0.0.1", 0, test_pages());
  try {
    const http_server second("127.0.0.1", first.port(), test_pages());
    FAIL() << "two servers on one port";
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(std::string(e.what()), "monitoring cannot listen on 127.0.0.1:" +
                                         std::to_string(first.port()) + ": Address already in use");
  }
}

TEST(http_server, ends_with_clients_still_connected) {
  std::vector<std::unique_ptr<client>> clients;
  const http_server server("127.0.0.1", 0, test_pages());
  for (int i = 0; i < 5; ++i) clients.push_back(std::make_unique<client>(server));
  EXPECT_EQ(status_line(get(server, "/")), "HTTP/1.1 200 OK");
}

} // namespace
} // namespace l3
