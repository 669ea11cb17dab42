// SPDX-License-Identifier: Apache-2.0
// The HTTP server, on a port and on a unix socket, against clients that ask properly, wrongly,
// slowly, or not at all.
#include "monitor/http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "tests/tools/temporary_folder.hpp"

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

const http_actions test_actions{
    {"/action", [](std::string_view body) {
       return http_response{202, "text/plain", "did " + std::string(body)};
     }}};

// A client that waits at most ten seconds for anything.
class client {
public:
  explicit client(const http_server& server) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(server.port());
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect_to(at);
  }
  explicit client(const std::string& unix_socket) : socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    connect_to(unix_address(unix_socket));
  }
  static sockaddr_un unix_address(const std::string& name) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, name.c_str(), sizeof at.sun_path - 1);
    return at;
  }
  ~client() { close(socket_); }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  void send(const std::string& text) const {
    (void)::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// All that comes until the server closes.
  [[nodiscard]] std::string rest() const {
    std::string all;
    char part[4096];
    for (ssize_t n; (n = recv(socket_, part, sizeof part, 0)) > 0;)
      all.append(part, static_cast<std::size_t>(n));
    return all;
  }

private:
  template <class Address>
  void connect_to(const Address& at) const {
    const timeval limit{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  }

  int socket_;
};

/// Of a server on a port, or on a unix socket by its name.
template <class Server>
std::string answer_to(const Server& server, const std::string& request) {
  const client c(server);
  c.send(request);
  return c.rest();
}
const std::string close_after = " HTTP/1.1\r\nHost: l3\r\nConnection: close\r\n";
template <class Server>
std::string get(const Server& server, const std::string& target) {
  return answer_to(server, "GET " + target + close_after + "\r\n");
}
std::string post(const std::string& unix_socket, const std::string& path, const std::string& body) {
  return answer_to(unix_socket, "POST " + path + close_after + "Content-Length: " +
                                    std::to_string(body.size()) + "\r\n\r\n" + body);
}
std::string status_line(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }

/// A request, and the status line of the answer.
const std::string length_3 = "Content-Length: 3\r\n\r\nabc";
const std::pair<std::string, const char*> requests[] = {
    {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "200 OK"},
    {"GET /?refresh=5" + close_after + "\r\n", "200 OK"},
    {"GET /busy" + close_after + "\r\n", "503 Service Unavailable"},
    {"GET /nothing" + close_after + "\r\n", "404 Not Found"},
    {"GET /broken" + close_after + "\r\n", "500 Internal Server Error"},
    // It is read-only.
    {"POST /" + close_after + length_3, "405 Method Not Allowed"},
    {"PUT /" + close_after + length_3, "405 Method Not Allowed"},
    {"DELETE /" + close_after + length_3, "405 Method Not Allowed"},
    {"OPTIONS /" + close_after + length_3, "405 Method Not Allowed"},
    {"GET /" + close_after + length_3, "400 Bad Request"},
    // It takes no more than 8 KiB of fields.
    {"GET / HTTP/1.1\r\nConnection: close\r\nX: " + std::string((8 << 10) - 26, 'y') + "\r\n\r\n",
     "200 OK"},
    {"GET / HTTP/1.1\r\nX: " + std::string((8 << 10) - 6, 'y') + "\r\n\r\n",
     "431 Request Header Fields Too Large"},
    {"GET /" + std::string(8 << 10, 'y') + " HTTP/1.1\r\n\r\n",
     "431 Request Header Fields Too Large"},
    {"rubbish\r\n\r\n", "400 Bad Request"},
    {std::string("\0\1\2\3\r\n\r\n", 8), "400 Bad Request"}};

TEST(http_server, answers_each_request_with_its_status) {
  const http_server server("127.0.0.1", 0, test_pages());
  for (const auto& [request, status] : requests) {
    const std::string answer = answer_to(server, request);
    EXPECT_EQ(status_line(answer), "HTTP/1.1 " + std::string(status)) << request;
    EXPECT_EQ(answer.find("Allow: GET, HEAD\r\n") != answer.npos,
              status[0] == '4' && status[2] == '5');
  }
  EXPECT_TRUE(get(server, "/").ends_with("\r\n\r\nhome"));
  const std::string head = answer_to(server, "HEAD /" + close_after + "\r\n");
  EXPECT_EQ(status_line(head), "HTTP/1.1 200 OK");
  EXPECT_NE(head.find("Content-Length: 4\r\n"), std::string::npos);
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  const std::string both =
      answer_to(server, "GET / HTTP/1.1\r\nHost: l3\r\n\r\nGET /busy" + close_after + "\r\n");
  EXPECT_NE(both.find("200 OK"), std::string::npos);
  EXPECT_NE(both.find("503 Service"), std::string::npos);
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

class unix_sockets : public testing::Test {
protected:
  [[nodiscard]] std::unique_ptr<http_server> serve() const {
    return std::make_unique<http_server>(name_, test_pages(), test_actions);
  }

  temporary_folder folder_;
  std::string name_ = (folder_ / "control.sock").string();
};

TEST_F(unix_sockets, serve_pages_by_get_and_actions_by_post_with_a_body_that_has_an_end) {
  {
    const auto server = serve();
    struct stat is {};
    ASSERT_EQ(::stat(name_.c_str(), &is), 0);
    EXPECT_EQ(is.st_mode & 0777U, 0660U) << "for owner and group";
    EXPECT_TRUE(get(name_, "/").ends_with("home"));
    const std::string got = get(name_, "/action");
    EXPECT_TRUE(got.starts_with("HTTP/1.1 405 ")) << got;
    EXPECT_NE(got.find("Allow: POST\r\n"), got.npos) << got;
    EXPECT_TRUE(post(name_, "/", "x").starts_with("HTTP/1.1 405 "));
    EXPECT_TRUE(post(name_, "/nothing", "x").starts_with("HTTP/1.1 405 "));

    const std::string answer = post(name_, "/action", "it");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 202 ")) << answer;
    EXPECT_TRUE(answer.ends_with("did it")) << answer;
    EXPECT_TRUE(post(name_, "/action", "").ends_with("did "));
    EXPECT_TRUE(post(name_, "/action", std::string(64 << 10, 'x')).starts_with("HTTP/1.1 202 "));
    for (const std::size_t bytes : {(64 << 10) + 1, 500'000}) {
      const std::string large = post(name_, "/action", std::string(bytes, 'x'));
      EXPECT_TRUE(large.starts_with("HTTP/1.1 413 ")) << large;
      EXPECT_TRUE(large.ends_with("the body exceeds the limit of 65536 bytes\n"));
    }
    const std::string chunked = answer_to(name_, "POST /action" + close_after +
                                                     "Transfer-Encoding: chunked\r\n\r\n20000\r\n" +
                                                     std::string(0x20000, 'x') + "\r\n0\r\n\r\n");
    EXPECT_TRUE(chunked.starts_with("HTTP/1.1 413 ")) << chunked;
  }
  EXPECT_FALSE(std::filesystem::exists(name_));
}

TEST_F(unix_sockets, take_only_the_place_of_one_that_no_program_serves) {
  EXPECT_THROW(http_server(std::string(200, 'x'), {}, {}), std::runtime_error) << "it is too long";
  std::ofstream(name_) << "of a person";
  EXPECT_THROW((void)serve(), std::runtime_error);
  EXPECT_EQ(std::filesystem::file_size(name_), 11U);
  std::filesystem::remove(name_);
  const int s = socket(AF_UNIX, SOCK_STREAM, 0); // of a program that was killed
  const sockaddr_un at = client::unix_address(name_);
  ASSERT_EQ(bind(s, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  close(s);
  const auto server = serve();
  EXPECT_THROW((void)serve(), std::runtime_error);
  EXPECT_TRUE(post(name_, "/action", "it").ends_with("did it"));
}

} // namespace
} // namespace l3
