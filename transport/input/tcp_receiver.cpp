// SPDX-License-Identifier: Apache-2.0
#include "transport/input/tcp_receiver.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <stdexcept>
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

tcp::acceptor listen_to(const tcp_settings& s, asio::thread_pool& context) {
  try {
    return {context, tcp::endpoint(asio::ip::make_address(listening_address(s.bind)), s.port)};
  } catch (const boost::system::system_error& e) {
    throw std::runtime_error(
        fmt::format("cannot receive TCP on {}:{}: {}", s.bind, s.port, e.code().message()));
  }
}

} // namespace

/// One thread with its share of the connections.
class tcp_thread {
public:
  tcp_thread(std::uint32_t run, event_builder& builder, const tcp_receiver::safe_batches& safe)
      : run_(run), builder_(builder), safe_(safe), tick_(context_) {
    asio::post(context_, [] { name_this_thread("tcp"); });
    tick();
  }

  ~tcp_thread() {
    context_.stop();
    context_.join();
  }

  /// Becomes ready when no connection reads any more.
  std::future<void> stop_reading() {
    asio::post(context_, [this] {
      stopping_ = true;
      tick_.cancel();
      for (const auto& c : connections_) c->stop_reading();
      wait_unread();
    });
    return unread_.get_future();
  }

  /// Call it after stop_reading(). Sends pending acknowledgements and closes the connections;
  /// becomes ready when that is done, or took too long.
  std::future<void> finish() {
    asio::post(context_, [this] {
      for (const auto& c : connections_) c->finish();
      wait_closed(steady_clock::now() + finish_time_limit);
    });
    return finished_.get_future();
  }

  /// Reads from the connection.
  void take(tcp::socket socket) {
    ++readers_;
    asio::post(context_, [this, s = std::move(socket)]() mutable {
      hold(std::move(s)).start([this] { --readers_; });
      tick_.cancel(); // the next one may be far away
    });
  }
  /// Tells the peer why it is refused, and closes.
  void refuse(tcp::socket socket) {
    asio::post(context_, [this, s = std::move(socket)]() mutable {
      input_.refused.add(refused::connection_limit);
      hold(std::move(s)).refuse(std::string(no_place_left));
    });
  }

  [[nodiscard]] asio::thread_pool& context() { return context_; }
  [[nodiscard]] input_counters& input() { return input_; }
  [[nodiscard]] std::uint32_t connections() const { return readers_; }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

private:
  tcp_connection& hold(tcp::socket socket) {
    return *connections_.emplace_back(
        std::make_shared<tcp_connection>(std::move(socket), run_, builder_, input_, safe_));
  }

  void forget_closed() {
    std::erase_if(connections_, [](const auto& c) { return c->closed(); });
  }

  void tick() {
    tick_.expires_after(connections_.empty() ? quiet_tick_period : tick_period);
    tick_.async_wait([this](const error_code&) {
      if (stopping_) return;
      turns_.add();
      builder_.tick(steady_clock::now());
      forget_closed();
      tick();
    });
  }

  // These repost themselves in context_ until the connections are ready.

  void wait_unread() {
    if (readers_ == 0) return unread_.set_value();
    asio::post(context_, [this] { wait_unread(); });
  }

  void wait_closed(time_point limit) {
    forget_closed();
    if (connections_.empty() || steady_clock::now() > limit) return finished_.set_value();
    tick_.expires_after(tick_period);
    tick_.async_wait([this, limit](const error_code&) { wait_closed(limit); });
  }

  std::uint32_t run_;
  event_builder& builder_;
  const tcp_receiver::safe_batches& safe_;
  asio::thread_pool context_{1};
  asio::steady_timer tick_;
  std::vector<std::shared_ptr<tcp_connection>> connections_;
  input_counters input_;
  counter turns_; ///< of the timer, for progress_watch
  std::atomic<std::uint32_t> readers_ = 0;
  std::promise<void> unread_;
  std::promise<void> finished_;
  bool stopping_ = false;
};

namespace {

std::vector<std::unique_ptr<tcp_thread>> start_threads(const tcp_settings& settings,
                                                       std::uint32_t run, event_builder& builder,
                                                       const tcp_receiver::safe_batches& safe) {
  std::vector<std::unique_ptr<tcp_thread>> threads;
  for (std::uint16_t t = 0; t < settings.threads; ++t)
    threads.push_back(std::make_unique<tcp_thread>(run, builder, safe));
  return threads;
}

} // namespace

/// The first thread listens.
tcp_receiver::tcp_receiver(const tcp_settings& settings, std::uint32_t run, event_builder& builder,
                           safe_batches safe)
    : safe_(std::move(safe)), max_connections_(settings.max_connections), allow_(settings.allow),
      threads_(start_threads(settings, run, builder, safe_)),
      acceptor_(listen_to(settings, threads_.front()->context())),
      retry_(threads_.front()->context()) {
  port_ = acceptor_.local_endpoint().port();
  asio::post(threads_.front()->context(), [this] { accept(); });
}

tcp_receiver::~tcp_receiver() {
  stop_reading();
  std::vector<std::future<void>> finished;
  for (const auto& t : threads_) finished.push_back(t->finish());
  for (const auto& f : finished) f.wait();
}

std::uint64_t tcp_receiver::memory_plan(const tcp_settings& settings, const readout& crates) {
  return std::uint64_t{settings.max_connections} * (max_event_body(crates) + connection_bytes);
}

void tcp_receiver::stop_reading() {
  if (std::exchange(stopped_, true)) return;
  std::promise<void> closed; // no connection comes after it
  asio::post(threads_.front()->context(), [this, &closed] {
    error_code ignored;
    retry_.cancel();
    acceptor_.close(ignored);
    closed.set_value();
  });
  closed.get_future().wait();
  std::vector<std::future<void>> unread;
  for (const auto& t : threads_) unread.push_back(t->stop_reading());
  for (const auto& u : unread) u.wait();
}

void tcp_receiver::accept() {
  // The thread with the fewest connections gets the next one.
  const auto connections = [](const auto& t) { return t->connections(); };
  tcp_thread* const next = std::ranges::min_element(threads_, {}, connections)->get();
  acceptor_.async_accept(next->context(), [=, this](const error_code& failed, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (!failed) take(std::move(socket), *next);
    if (!failed) return accept();
    retry_.expires_after(tick_period); // no descriptor was free
    retry_.async_wait([this](const error_code&) {
      if (acceptor_.is_open()) accept();
    });
  });
}

void tcp_receiver::take(tcp::socket socket, tcp_thread& thread) {
  if (!may_send(socket)) return threads_.front()->input().refused.add(refused::source);
  std::uint32_t open = 0;
  for (const auto& t : threads_) open += t->connections();
  if (open >= max_connections_) return thread.refuse(std::move(socket));
  thread.take(std::move(socket));
}

bool tcp_receiver::may_send(const tcp::socket& socket) const {
  if (allow_.takes_everybody()) return true;
  error_code gone;
  const auto from = socket.remote_endpoint(gone).address();
  if (gone) return false;
  return allow_.takes(from.is_v4() ? ip_address::ipv4(from.to_v4().to_uint())
                                   : ip_address::ipv6(from.to_v6().to_bytes()));
}

const input_counters& tcp_receiver::input(std::size_t thread) const {
  return threads_[thread]->input();
}
std::uint64_t tcp_receiver::turns(std::size_t thread) const { return threads_[thread]->turns(); }
std::uint32_t tcp_receiver::connections(std::size_t thread) const {
  return threads_[thread]->connections();
}

} // namespace l3
