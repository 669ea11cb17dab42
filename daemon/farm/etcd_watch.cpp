// SPDX-License-Identifier: Apache-2.0
#include "daemon/farm/etcd_watch.hpp"

#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include "daemon/farm/base64.hpp"
#include "daemon/farm/etcd_address.hpp"
#include "daemon/farm/etcd_client.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;

constexpr std::chrono::seconds try_again{1};
constexpr std::chrono::milliseconds name_patience{300};
constexpr std::chrono::seconds connect_patience{2};

} // namespace

class etcd_watch::stream : public std::enable_shared_from_this<stream> {
public:
  stream(asio::io_context& io, std::function<void()> rings)
      : stream_(io), rings_(std::move(rings)) {}

  void open(const found_etcd& at, const std::string& token, const std::string& prefix) {
    request_ = {http::verb::post, "/v3/watch", 11};
    request_.set(http::field::host, at.host);
    request_.set(http::field::content_type, "application/json");
    if (!token.empty()) request_.set(http::field::authorization, token);
    request_.body() = json::serialize(json::object{
        {"create_request",
         json::object{{"key", to_base64(prefix)}, {"range_end", to_base64(end_of_keys(prefix))}}}});
    request_.prepare_payload();
    stream_.expires_after(connect_patience);
    stream_.async_connect(at.endpoints,
                          [self = shared_from_this()](beast::error_code error, const auto&) {
                            if (error) return self->end();
                            http::async_write(self->stream_, self->request_,
                                              [self](beast::error_code failed, std::size_t) {
                                                if (failed) return self->end();
                                                self->stream_.expires_never();
                                                self->listen();
                                              });
                          });
  }
  [[nodiscard]] bool ended() const { return ended_; }
  void cut() {
    rings_ = nullptr;
    stream_.close();
  }

private:
  void listen() {
    stream_.async_read_some(asio::buffer(bytes_),
                            [self = shared_from_this()](beast::error_code error, std::size_t) {
                              if (error) return self->end();
                              if (self->rings_) self->rings_();
                              self->listen();
                            });
  }
  void end() {
    ended_ = true;
    stream_.close();
  }

  beast::tcp_stream stream_;
  std::function<void()> rings_;
  http::request<http::string_body> request_;
  std::array<char, 4096> bytes_{}; ///< thrown away
  bool ended_ = false;
};

etcd_watch::etcd_watch(asio::io_context& io, std::function<void()> rings)
    : io_(io), rings_(std::move(rings)) {}

etcd_watch::~etcd_watch() { close(); }

void etcd_watch::close() {
  if (stream_) stream_->cut();
  stream_.reset();
}

void etcd_watch::keep_open(const std::string& address, const std::string& token,
                           const std::string& prefix) {
  const auto now = std::chrono::steady_clock::now();
  if ((stream_ && !stream_->ended()) ||
      (tried_.time_since_epoch().count() != 0 && now < tried_ + try_again))
    return;
  tried_ = now;
  const found_etcd at = find_etcd(address, now + name_patience);
  if (at.endpoints.empty()) return;
  stream_ = std::make_shared<stream>(io_, rings_);
  stream_->open(at, token, prefix);
}

} // namespace l3
