// SPDX-License-Identifier: Apache-2.0
#include "transport/input/tcp_receiver.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "transport/input/tcp_connection.hpp"
#include "transport/system/name_lookup.hpp"
#include "transport/system/threads.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto finish_time_limit = std::chrono::seconds(1);

/// Memory of a connection besides its record: two coroutines, timers, pending acknowledgements.
constexpr std::uint64_t connection_bytes = 16 << 10;

/// Connections beyond the limit that are refused with a text; further ones are just closed.
constexpr std::size_t max_refusals = 64;

void listen_to(const tcp_settings& s, tcp::acceptor& acceptor) {
  error_code failed;
  const auto number = asio::ip::make_address(listening_address(s.bind), failed);
  const tcp::endpoint where(number, s.port);
  if (!failed) acceptor.open(where.protocol(), failed);
  if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(where, failed);
  if (!failed) acceptor.listen(tcp::acceptor::max_listen_connections, failed);
  if (failed)
    throw std::runtime_error(
        fmt::format("cannot receive TCP on {}:{}: {}", s.bind, s.port, failed.message()));
}

} // namespace

class tcp_server {
public:
  tcp_server(const tcp_settings& settings, std::uint32_t run, event_builder& builder,
             tcp_receiver::safe_batches safe)
      : run_(run), builder_(builder), safe_(std::move(safe)),
        max_connections_(settings.max_connections), allow_(settings.allow), acceptor_(context_),
        tick_(context_) {
    listen_to(settings, acceptor_);
    port_ = acceptor_.local_endpoint().port();
    accept();
    tick();
    thread_ = std::thread([this] {
      name_this_thread("tcp");
      context_.run();
    });
  }

  ~tcp_server() {
    stop_reading();
    std::promise<void> finished;
    asio::post(context_, [this, &finished] {
      for (const auto& c : connections_) c->finish();
      wait_closed(finished, steady_clock::now() + finish_time_limit);
    });
    finished.get_future().wait();
    context_.stop();
    thread_.join();
  }

  void stop_reading() {
    std::promise<void> stopped;
    asio::post(context_, [this, &stopped] {
      error_code ignored;
      stopping_ = true;
      acceptor_.close(ignored);
      tick_.cancel();
      for (const auto& c : connections_) c->stop_reading();
      wait_unread(stopped);
    });
    stopped.get_future().wait();
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const input_counters& input() const { return input_; }
  [[nodiscard]] std::uint32_t connections() const { return readers_; }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

private:
  void accept() {
    acceptor_.async_accept([this](const error_code& failed, tcp::socket socket) {
      if (stopping_ || !acceptor_.is_open()) return;
      if (!failed) take(std::move(socket));
      accept_again_ = failed.failed(); // no descriptor was free: the next tick accepts again
      if (!accept_again_) accept();
    });
  }

  void take(tcp::socket socket) {
    if (!may_send(socket)) return input_.refused.add(refused::source);
    forget_closed();
    const bool wanted = readers_ < max_connections_;
    if (!wanted) input_.refused.add(refused::connection_limit);
    if (!wanted && connections_.size() >= max_connections_ + max_refusals) return;
    connections_.push_back(
        std::make_shared<tcp_connection>(std::move(socket), run_, builder_, input_, safe_));
    if (!wanted) return connections_.back()->refuse(std::string(no_place_left));
    ++readers_;
    connections_.back()->start([this] { hasten(); }, [this] { --readers_; });
  }

  [[nodiscard]] bool may_send(const tcp::socket& socket) const {
    if (allow_.takes_everybody()) return true;
    error_code gone;
    const auto from = socket.remote_endpoint(gone).address();
    if (gone) return false;
    return allow_.takes(from.is_v4() ? ip_address::ipv4(from.to_v4().to_uint())
                                     : ip_address::ipv6(from.to_v6().to_bytes()));
  }

  void forget_closed() {
    std::erase_if(connections_, [](const auto& c) { return c->closed(); });
  }

  /// Ends a long wait early, because time limits may be pending now.
  void hasten() {
    if (std::exchange(quiet_, false)) tick_.cancel();
  }

  void tick() {
    quiet_ = !accept_again_ && builder_.is_quiet();
    tick_.expires_after(quiet_ ? quiet_tick_period : tick_period);
    tick_.async_wait([this](const error_code&) {
      if (stopping_) return;
      turns_.add();
      builder_.tick(steady_clock::now());
      forget_closed();
      if (std::exchange(accept_again_, false)) accept();
      tick();
    });
  }

  // These repost themselves in context_ until the connections are ready.

  void wait_unread(std::promise<void>& stopped) {
    if (readers_ == 0) return stopped.set_value();
    asio::post(context_, [this, &stopped] { wait_unread(stopped); });
  }

  void wait_closed(std::promise<void>& finished, time_point limit) {
    forget_closed();
    if (connections_.empty() || steady_clock::now() > limit) return finished.set_value();
    tick_.expires_after(tick_period);
    tick_.async_wait([this, &finished, limit](const error_code&) { wait_closed(finished, limit); });
  }

  std::uint32_t run_;
  event_builder& builder_;
  tcp_receiver::safe_batches safe_;
  std::size_t max_connections_;
  source_list allow_;
  asio::io_context context_{1};
  // The context runs until the destructor stops it, even without work.
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  tcp::acceptor acceptor_;
  asio::steady_timer tick_;
  std::vector<std::shared_ptr<tcp_connection>> connections_;
  input_counters input_;
  counter turns_; ///< of the timer, for progress_watch
  std::uint16_t port_ = 0;
  std::atomic<std::uint32_t> readers_ = 0;
  bool stopping_ = false;
  bool accept_again_ = false;
  bool quiet_ = false; ///< the next tick is far away
  std::thread thread_;
};

tcp_receiver::tcp_receiver(const tcp_settings& settings, std::uint32_t run, event_builder& builder,
                           safe_batches safe)
    : server_(std::make_unique<tcp_server>(settings, run, builder, std::move(safe))) {}

tcp_receiver::~tcp_receiver() = default;

std::uint64_t tcp_receiver::memory_plan(const tcp_settings& settings, const readout& crates) {
  return std::uint64_t{settings.max_connections} * (max_event_body(crates) + connection_bytes) +
         max_refusals * connection_bytes;
}

void tcp_receiver::stop_reading() { server_->stop_reading(); }
std::uint16_t tcp_receiver::port() const { return server_->port(); }
const input_counters& tcp_receiver::input() const { return server_->input(); }
std::uint64_t tcp_receiver::turns() const { return server_->turns(); }
std::uint32_t tcp_receiver::connections() const { return server_->connections(); }

} // namespace l3
