// SPDX-License-Identifier: Apache-2.0
#include "tools/run/run_words.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/errc.hpp>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "tools/command_error.hpp"
#include "tools/status/http_get.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using local = asio::local::stream_protocol;

/// A start checks whether a receiver listens, and may read a menu from a slow disk.
constexpr std::chrono::seconds patience{10};
constexpr std::size_t longest_answer = 1 << 20;

/// Who may use the socket. The system refuses users without write access to the socket, or without
/// search access to a parent folder. Below such a folder nothing can be seen.
std::string who_may_open(const std::string& socket) {
  std::filesystem::path name = socket;
  struct stat is {};
  mode_t of_user = S_IWUSR;
  mode_t of_group = S_IWGRP;
  while (::stat(name.empty() ? "." : name.c_str(), &is) != 0 && name != name.parent_path()) {
    name = name.parent_path();
    of_user = S_IXUSR;
    of_group = S_IXGRP;
  }
  std::vector<std::string> who;
  // NOLINTBEGIN(concurrency-mt-unsafe): the command has one thread
  if (const passwd* const user = ::getpwuid(is.st_uid); (is.st_mode & of_user) != 0)
    who.push_back("the user " + (user ? std::string(user->pw_name) : std::to_string(is.st_uid)));
  if (const group* const all = ::getgrgid(is.st_gid); (is.st_mode & of_group) != 0)
    who.push_back("the group " + (all ? std::string(all->gr_name) : std::to_string(is.st_gid)));
  // NOLINTEND(concurrency-mt-unsafe)
  if (is.st_uid != 0 || who.empty()) who.emplace_back("root");
  return fmt::format("{} is open to {}", name == socket ? "it" : name.string(),
                     fmt::join(who, " and "));
}

} // namespace

control_answer ask_control(const std::string& socket, const std::string& path,
                           const std::string& body) {
  asio::io_context io;
  beast::basic_stream<local> stream(io);
  beast::flat_buffer buffer;
  http::request<http::string_body> request{body.empty() ? http::verb::get : http::verb::post, path,
                                           11};
  request.set(http::field::host, "localhost");
  request.keep_alive(false);
  request.body() = body;
  request.prepare_payload();
  http::response_parser<http::string_body> response;
  response.body_limit(longest_answer);
  beast::error_code failed = beast::error::timeout;
  try {
    stream.expires_after(patience);
    stream.async_connect(local::endpoint(socket), [&](beast::error_code connected) {
      if ((failed = connected)) return;
      http::async_write(stream, request, [&](beast::error_code written, std::size_t) {
        if ((failed = written)) return;
        http::async_read(stream, buffer, response,
                         [&](beast::error_code read, std::size_t) { failed = read; });
      });
    });
    io.run();
  } catch (const boost::system::system_error& e) { // the name is too long
    failed = e.code();
  }
  const auto fail = [&](const std::string& why, int code) {
    throw command_error(
        fmt::format("no run control answers at {}: {} (run.control of the daemon, --socket)",
                    socket, why),
        code);
  };
  if (failed == boost::system::errc::permission_denied)
    throw command_error(
        fmt::format("no permission to open {}: {} (run.control of the daemon, --socket)", socket,
                    who_may_open(socket)),
        exit_missing_resource);
  if (failed == http::error::body_limit) fail("the answer has more than 1 MiB", exit_failure);
  if (failed) fail(failed.message(), is_http_fault(failed) ? exit_failure : exit_missing_resource);
  const std::string& text = response.get().body();
  if (response.get().result() == http::status::payload_too_large) { // plain text
    boost::json::array reasons;
    reasons.emplace_back(text.substr(0, text.find('\n')));
    return {response.get().result_int(), {{"reasons", std::move(reasons)}}};
  }
  boost::json::error_code no_json;
  const auto value = boost::json::parse(text, no_json);
  if (no_json || !value.is_object()) fail("the answer is not a JSON object", exit_failure);
  return {response.get().result_int(), value.as_object()};
}

} // namespace l3
