// SPDX-License-Identifier: Apache-2.0
// The HTTP server on a unix socket, with actions.
#include "monitor/http_server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace l3 {
namespace {

class unix_sockets : public testing::Test {
protected:
  unix_sockets() {
    std::string name = (std::filesystem::temp_directory_path() / "l3-socket-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~unix_sockets() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string name() const { return (folder_ / "control.sock").string(); }
  [[nodiscard]] std::unique_ptr<http_server> serve() const {
    return std::make_unique<http_server>(
        name(),
        http_pages{{"/page",
                    [] {
                      return http_response{200, "text/plain", std::string("page")};
                    }}},
        http_actions{{"/action", [](std::string_view body) {
                        return http_response{202, "text/plain", "did " + std::string(body)};
                      }}});
  }
  /// A socket over which the server has this much of a request.
  [[nodiscard]] int begin(const std::string& request) const {
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, name().c_str(), sizeof at.sun_path - 1);
    EXPECT_EQ(connect(s, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    (void)::send(s, request.data(), request.size(), MSG_NOSIGNAL);
    return s;
  }
  [[nodiscard]] std::string ask(const std::string& request) const {
    const int s = begin(request);
    std::string all;
    char part[4096];
    for (ssize_t n; (n = recv(s, part, sizeof part, 0)) > 0;)
      all.append(part, static_cast<std::size_t>(n));
    close(s);
    return all;
  }
  [[nodiscard]] std::string post(const std::string& path, const std::string& body) const {
    return ask("POST " + path + " HTTP/1.1\r\nHost: l3\r\nConnection: close\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  std::filesystem::path folder_;
};

TEST_F(unix_sockets, serve_pages_and_actions) {
  const auto server = serve();
  EXPECT_TRUE(ask("GET /page HTTP/1.1\r\nHost: l3\r\nConnection: close\r\n\r\n").ends_with("page"));
  const std::string answer = post("/action", "it");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 202 ")) << answer;
  EXPECT_TRUE(answer.ends_with("did it")) << answer;
  EXPECT_TRUE(post("/action", "").ends_with("did "));
}

TEST_F(unix_sockets, an_action_is_for_post_alone_and_a_page_is_not) {
  const auto server = serve();
  const std::string got = ask("GET /action HTTP/1.1\r\nHost: l3\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(got.starts_with("HTTP/1.1 405 ")) << got;
  EXPECT_NE(got.find("Allow: POST\r\n"), got.npos) << got;
  EXPECT_TRUE(post("/page", "x").starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(post("/nothing", "x").starts_with("HTTP/1.1 405 "));
}

TEST_F(unix_sockets, a_body_has_an_end) {
  const auto server = serve();
  EXPECT_TRUE(post("/action", std::string(64 << 10, 'x')).starts_with("HTTP/1.1 202 "));
  EXPECT_TRUE(post("/action", std::string((64 << 10) + 1, 'x')).starts_with("HTTP/1.1 413 "));
  const std::string large = post("/action", std::string(500'000, 'x'));
  EXPECT_TRUE(large.starts_with("HTTP/1.1 413 ")) << large;
  EXPECT_TRUE(large.ends_with("the body exceeds the limit of 65536 bytes\n")) << large;
  const std::string chunked = ask(
      "POST /action HTTP/1.1\r\nHost: l3\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
      "20000\r\n" +
      std::string(0x20000, 'x') + "\r\n0\r\n\r\n");
  EXPECT_TRUE(chunked.starts_with("HTTP/1.1 413 ")) << chunked;
}

TEST_F(unix_sockets, are_for_owner_and_group_and_go_with_the_server) {
  {
    const auto server = serve();
    struct stat is {};
    ASSERT_EQ(::stat(name().c_str(), &is), 0);
    EXPECT_EQ(is.st_mode & 0777U, 0660U);
  }
  EXPECT_FALSE(std::filesystem::exists(name()));
}

TEST_F(unix_sockets, only_one_that_no_program_serves_is_replaced) {
  {
    const int s = socket(AF_UNIX, SOCK_STREAM, 0); // of a program that was killed
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, name().c_str(), sizeof at.sun_path - 1);
    ASSERT_EQ(bind(s, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    close(s);
  }
  const auto server = serve();
  EXPECT_THROW((void)serve(), std::runtime_error);
  EXPECT_TRUE(post("/action", "it").ends_with("did it"));
}

TEST_F(unix_sockets, a_file_of_the_name_stays) {
  std::ofstream(name()) << "of a person";
  EXPECT_THROW((void)serve(), std::runtime_error);
  EXPECT_EQ(std::filesystem::file_size(name()), 11U);
}

TEST_F(unix_sockets, a_name_that_is_too_long_is_told) {
  EXPECT_THROW(http_server(std::string(200, 'x'), {}, {}), std::runtime_error);
}

} // namespace
} // namespace l3
