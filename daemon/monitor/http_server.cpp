// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/http_server.hpp"

#include <array>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "transport/system/thread_name.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// How long the server waits after a failed accept, as when the process has no descriptor left.
constexpr std::chrono::milliseconds accept_pause{100};

// How much of a refused request's body the server reads, so that the client sees the answer instead
// of a reset.
constexpr std::size_t most_unwanted_bytes = 64 << 10;

http_response refusal(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n"};
}

http_response answer_for(const http_pages& pages, const http::request<http::empty_body>& request) {
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    return refusal(405, "only GET and HEAD");
  }
  const std::string_view target(request.target().data(), request.target().size());
  const auto page = pages.find(target.substr(0, target.find('?')));
  if (page == pages.end()) return refusal(404, "no such page");
  try {
    return page->second();
  } catch (const std::exception& e) {
    return refusal(500, e.what());
  }
}

unsigned status_of(error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  return 400;
}

// One connection. It lives as long as one of its operations is under way.
class session : public std::enable_shared_from_this<session> {
public:
  session(tcp::socket socket, const http_pages& pages, const http_limits& limits,
          std::function<void()> ended)
      : stream_(std::move(socket)), pages_(pages), limits_(limits), ended_(std::move(ended)),
        buffer_(limits.header_bytes) {}
  ~session() { ended_(); }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Whether the connection waits for a request: cutting it then loses no answer.
  [[nodiscard]] bool idle() const { return idle_; }
  void cut() { stream_.close(); }

  void read() {
    idle_ = true;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
    stream_.expires_after(limits_.patience);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_read(error); });
  }

private:
  void on_read(error_code error) {
    if (error == http::error::end_of_stream || error == beast::error::timeout) return;
    if (error) {
      // After an error of the connection there is no client to answer.
      if (error.category() != http::make_error_code(http::error::bad_method).category()) return;
      write(refusal(status_of(error), error.message()), http::request<http::empty_body>(), true);
      return;
    }
    const auto& request = parser_->get();
    const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
    const bool allowed =
        request.method() == http::verb::get || request.method() == http::verb::head;
    if (has_body && allowed) {
      write(refusal(400, "requests here have no body"), request, true);
    } else {
      write(answer_for(pages_, request), request, has_body || !request.keep_alive());
    }
  }

  void write(http_response answer, const http::request<http::empty_body>& request, bool last) {
    idle_ = false;
    response_ = {};
    response_.version(request.version());
    response_.result(answer.status);
    response_.set(http::field::server, "koto-l3d");
    response_.set(http::field::content_type, answer.content_type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    if (answer.status == 405) response_.set(http::field::allow, "GET, HEAD");
    response_.keep_alive(!last);
    response_.content_length(answer.body.size());
    if (request.method() != http::verb::head) response_.body() = std::move(answer.body);
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

  // Closing with unread data resets the connection and may lose the answer: so read a little on.
  void finish() {
    idle_ = true;
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    discard();
  }
  void discard() {
    stream_.async_read_some(asio::buffer(unwanted_),
                            [self = shared_from_this()](error_code error, std::size_t n) {
                              self->discarded_ += n;
                              if (!error && self->discarded_ < most_unwanted_bytes) self->discard();
                            });
  }

  beast::tcp_stream stream_;
  const http_pages& pages_;
  const http_limits& limits_;
  std::function<void()> ended_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  std::array<char, 1024> unwanted_{};
  bool idle_ = false;
  std::size_t discarded_ = 0;
};

} // namespace

// Accepts and bounds the connections. It runs on one thread.
class http_server::listener {
public:
  listener(const std::string& address, std::uint16_t port, http_pages pages, http_limits limits)
      : pages_(std::move(pages)), limits_(limits), acceptor_(context_), pause_(context_) {
    try {
      const tcp::endpoint where(asio::ip::make_address(address), port);
      acceptor_.open(where.protocol());
      acceptor_.set_option(asio::socket_base::reuse_address(true));
      acceptor_.bind(where);
      acceptor_.listen();
    } catch (const boost::system::system_error& e) {
      throw std::runtime_error(
          fmt::format("monitoring cannot listen on {}:{}: {}", address, port, e.code().message()));
    }
    port_ = acceptor_.local_endpoint().port();
    accept();
    thread_ = std::thread([this] {
      name_this_thread("http");
      context_.run();
    });
  }

  ~listener() {
    context_.stop();
    thread_.join();
    stopping_ = true; // sessions now end with the context
  }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

private:
  void accept() {
    accepting_ = true;
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
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

  void start(tcp::socket socket) {
    make_room();
    const auto s = std::make_shared<session>(std::move(socket), pages_, limits_, [this] {
      --connections_;
      accept_if_room();
    });
    ++connections_;
    sessions_.push_back(s);
    s->read();
  }

  // Idle connections must not keep others away: beyond the limit the oldest idle one is cut. It
  // goes when its read operation ends.
  void make_room() {
    std::erase_if(sessions_, [](const auto& s) { return s.expired(); });
    if (connections_ < limits_.connections) return;
    for (const auto& weak : sessions_) {
      const auto s = weak.lock();
      if (!s || !s->idle()) continue;
      s->cut();
      return;
    }
  }

  // The server takes one more than the limit, in place of the idle one that it cuts.
  void accept_if_room() {
    if (!accepting_ && !stopping_ && connections_ <= limits_.connections) accept();
  }

  const http_pages pages_;
  const http_limits limits_;
  std::vector<std::weak_ptr<session>> sessions_; // oldest first
  std::size_t connections_ = 0;
  bool accepting_ = false;
  bool stopping_ = false;
  std::uint16_t port_ = 0;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::thread thread_;
};

http_server::http_server(const std::string& address, std::uint16_t port, http_pages pages,
                         http_limits limits)
    : listener_(std::make_unique<listener>(address, port, std::move(pages), limits)) {}

http_server::~http_server() = default;

std::uint16_t http_server::port() const { return listener_->port(); }

} // namespace l3
