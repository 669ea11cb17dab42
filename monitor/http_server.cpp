// SPDX-License-Identifier: Apache-2.0
#include "monitor/http_server.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "transport/system/file_descriptor.hpp"
#include "transport/system/name_lookup.hpp"
#include "transport/system/reason_of.hpp"
#include "transport/system/threads.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::generic::stream_protocol; // a port or a unix socket
using asio::ip::tcp;
using stream_acceptor = asio::basic_socket_acceptor<stream_protocol>;
using local_socket = asio::local::stream_protocol;
using text_request = http::request<http::string_body>;
using boost::system::error_code;

// Pause after a failed accept, for example when the process has no free descriptor.
constexpr std::chrono::milliseconds accept_pause{100};

// How much of a refused request's body the server reads, so that the client gets the answer and not
// a reset. This is far more than any valid body.
constexpr std::size_t most_unwanted_bytes = 16 << 20;

http_response refusal(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n"};
}

/// The pages and actions of a server.
struct contents {
  http_pages pages;
  http_actions actions;

  /// The action of a POST; nullptr if the request is no POST or its path has no action.
  [[nodiscard]] const http_actions::mapped_type* action_of(const text_request& request) const {
    const auto action = actions.find(path_of(request));
    const bool posted = request.method() == http::verb::post && action != actions.end();
    return posted ? &action->second : nullptr;
  }
  [[nodiscard]] static std::string_view path_of(const text_request& request) {
    const std::string_view target(request.target().data(), request.target().size());
    return target.substr(0, target.find('?'));
  }
};

bool only_reads(const text_request& request) {
  return request.method() == http::verb::get || request.method() == http::verb::head;
}

http_response answer_for(const contents& of, const text_request& request) {
  try {
    if (const auto* action = of.action_of(request)) return (*action)(request.body());
    const std::string_view path = contents::path_of(request);
    if (of.actions.contains(path)) return refusal(405, "only POST");
    if (!only_reads(request)) return refusal(405, "only GET and HEAD");
    const auto page = of.pages.find(path);
    return page == of.pages.end() ? refusal(404, "no such page") : page->second();
  } catch (const std::exception& e) {
    return refusal(500, reason_of(e));
  }
}

unsigned status_of(error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  return 400;
}

// One connection. It lives as long as one of its operations is pending.
class session : public std::enable_shared_from_this<session> {
public:
  session(stream_protocol::socket socket, const contents& of, const http_limits& limits,
          std::function<void()> ended)
      : stream_(std::move(socket)), contents_(of), limits_(limits), ended_(std::move(ended)),
        buffer_(limits.header_bytes) {}
  ~session() { ended_(); }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
    parser_->body_limit(boost::none); // for bodies that are read, see read_body()
    stream_.expires_after(limits_.patience);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_read(error); });
  }

private:
  void on_read(error_code error) {
    if (error == http::error::end_of_stream || error == beast::error::timeout) return;
    if (error) return refuse(error);
    const auto& request = parser_->get();
    const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
    if (contents_.action_of(request) != nullptr) {
      read_body();
    } else if (has_body && only_reads(request)) {
      write(refusal(400, "a request to this address has no body"), request, true);
    } else {
      write(answer_for(contents_, request), request, has_body || !request.keep_alive());
    }
  }

  /// After an error of the connection no client can receive an answer.
  void refuse(error_code error) {
    if (error.category() != http::make_error_code(http::error::bad_method).category()) return;
    const std::string why =
        error == http::error::body_limit
            ? fmt::format("the body exceeds the limit of {} bytes", limits_.body_bytes)
            : error.message();
    write(refusal(status_of(error), why), text_request(), true);
  }

  void read_body() {
    if (parser_->content_length().value_or(0) > limits_.body_bytes)
      return refuse(http::error::body_limit);
    parser_->body_limit(limits_.body_bytes);
    http::async_read(
        stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
          if (error) return self->refuse(error);
          const auto& request = self->parser_->get();
          self->write(answer_for(self->contents_, request), request, !request.keep_alive());
        });
  }

  void write(http_response answer, const text_request& request, bool last) {
    body_ = std::move(answer.body);
    response_ = {};
    response_.version(request.version());
    response_.result(answer.status);
    response_.set(http::field::server, "koto-l3d");
    response_.set(http::field::content_type, answer.content_type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    if (answer.status == 405)
      response_.set(http::field::allow,
                    contents_.actions.contains(contents::path_of(request)) ? "POST" : "GET, HEAD");
    response_.keep_alive(!last);
    response_.content_length(body_->size());
    if (request.method() != http::verb::head) response_.body() = {body_->data(), body_->size()};
    stream_.expires_after(limits_.patience);
    http::async_write(stream_, response_,
                      [self = shared_from_this(), last](error_code error, std::size_t) {
                        if (error) return;
                        if (last) {
                          self->finish();
                        } else {
                          self->read();
                        }
                      });
  }

  // Closing with unread data resets the connection and may lose the answer, so some more is read.
  void finish() {
    error_code ignored;
    stream_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
    discard();
  }
  void discard() {
    stream_.async_read_some(asio::buffer(unwanted_),
                            [self = shared_from_this()](error_code error, std::size_t n) {
                              self->discarded_ += n;
                              if (!error && self->discarded_ < most_unwanted_bytes) self->discard();
                            });
  }

  beast::basic_stream<stream_protocol> stream_;
  const contents& contents_;
  const http_limits& limits_;
  std::function<void()> ended_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  shared_text body_{{}};
  http::response<http::span_body<const char>> response_; ///< of body_
  std::array<char, 4096> unwanted_{};
  std::size_t discarded_ = 0;
};

/// Whether a program serves this unix socket.
bool is_served(const std::string& unix_socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  unix_socket.copy(address.sun_path, sizeof address.sun_path - 1);
  const file_descriptor s(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return ::connect(s.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno == EAGAIN; // the queue of connections is full
}

} // namespace

// Accepts connections up to the limit. Runs on one thread.
class http_server::listener {
public:
  listener(contents of, http_limits limits)
      : contents_(std::move(of)), limits_(limits), acceptor_(context_), pause_(context_) {}

  void listen(const std::string& address, std::uint16_t port) {
    try {
      const tcp::endpoint where(asio::ip::make_address(listening_address(address)), port);
      acceptor_.open(where.protocol());
      acceptor_.set_option(asio::socket_base::reuse_address(true));
      acceptor_.bind(where);
      acceptor_.listen();
      tcp::endpoint bound;
      const auto got = acceptor_.local_endpoint();
      bound.resize(got.size());
      std::memcpy(bound.data(), got.data(), got.size());
      port_ = bound.port();
    } catch (const boost::system::system_error& e) {
      throw std::runtime_error(
          fmt::format("monitoring cannot listen on {}:{}: {}", address, port, e.code().message()));
    }
    start();
  }

  void listen(const std::string& unix_socket) {
    try {
      if (is_served(unix_socket))
        throw std::runtime_error("another program serves it: give each its own");
      std::error_code none;
      if (std::filesystem::is_socket(unix_socket, none)) std::filesystem::remove(unix_socket, none);
      make_socket(unix_socket);
    } catch (const std::exception& e) {
      throw std::runtime_error(fmt::format("cannot listen on {}: {}", unix_socket, reason_of(e)));
    }
    name_ = unix_socket;
    start();
  }

  ~listener() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    if (!name_.empty()) std::remove(name_.c_str());
    stopping_ = true; // sessions now end with the context
  }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

private:
  /// Creates the socket for owner and group, and names it afterwards, so that no other user can
  /// connect to it.
  void make_socket(const std::string& name) {
    const local_socket::endpoint where(name);
    acceptor_.open(stream_protocol(where.protocol()));
    constexpr mode_t owner_and_group = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP;
    if (::fchmod(acceptor_.native_handle(), S_IRUSR | S_IWUSR) != 0)
      throw std::runtime_error("its permissions cannot be set");
    acceptor_.bind(where);
    if (::chmod(name.c_str(), owner_and_group) != 0)
      throw std::runtime_error("its permissions cannot be set");
    acceptor_.listen();
  }

  void start() {
    accept();
    thread_ = std::thread([this] {
      name_this_thread("http");
      context_.run();
    });
  }

  void accept() {
    accepting_ = true;
    acceptor_.async_accept([this](error_code error, stream_protocol::socket socket) {
      accepting_ = false;
      if (error) {
        pause_.expires_after(accept_pause);
        pause_.async_wait([this](error_code) { accept_if_room(); });
        return;
      }
      start(std::move(socket));
      accept_if_room();
    });
  }

  void start(stream_protocol::socket socket) {
    ++connections_;
    std::make_shared<session>(std::move(socket), contents_, limits_, [this] {
      --connections_;
      accept_if_room();
    })->read();
  }

  void accept_if_room() {
    if (!accepting_ && !stopping_ && connections_ < limits_.connections) accept();
  }

  const contents contents_;
  const http_limits limits_;
  std::string name_; // of a unix socket; empty: a port
  std::size_t connections_ = 0;
  bool accepting_ = false;
  bool stopping_ = false;
  std::uint16_t port_ = 0;
  asio::io_context context_{1};
  stream_acceptor acceptor_;
  asio::steady_timer pause_;
  std::thread thread_;
};

http_server::http_server(const std::string& address, std::uint16_t port, http_pages pages,
                         http_limits limits)
    : listener_(std::make_unique<listener>(contents{std::move(pages), {}}, limits)) {
  listener_->listen(address, port);
}

http_server::http_server(const std::string& unix_socket, http_pages pages, http_actions actions,
                         http_limits limits)
    : listener_(
          std::make_unique<listener>(contents{std::move(pages), std::move(actions)}, limits)) {
  listener_->listen(unix_socket);
}

http_server::~http_server() = default;

std::uint16_t http_server::port() const { return listener_->port(); }

} // namespace l3
