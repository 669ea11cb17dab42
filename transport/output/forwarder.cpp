// SPDX-License-Identifier: Apache-2.0
#include "transport/output/forwarder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include <sys/socket.h>
#include <zmq.hpp>

#include "transport/output/line.hpp"
#include "transport/output/line_security.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t nanoseconds(std::chrono::nanoseconds t) {
  return static_cast<std::uint64_t>(t.count());
}

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t retry_time = nanoseconds(1s); ///< between hellos, and after a refusal
/// The news of a connection may come before ZeroMQ takes messages for it.
constexpr std::uint64_t quick_retry_time = nanoseconds(5ms);
constexpr std::uint64_t hold_retry_time = nanoseconds(100ms); ///< a source could not give a block
constexpr std::uint64_t heartbeat_time = nanoseconds(1s);     ///< of silence
/// Then nobody is there. The status that says so is half a second old at most: 3 s in all.
constexpr std::uint64_t silence_limit = nanoseconds(2400ms);
constexpr auto longest_wait = 1s;

// What ZeroMQ is told. Its own heartbeats only find a dead connection (and close it, after the
// silence limit); keeping the data is the acknowledgements' work. `immediate` lets no message queue
// up for a connection that is not there: those of a broken one are let go, and sent again by us.
// The high-water mark only bounds what a stalled connection holds.
constexpr int link_heartbeat_ms = 1000;
constexpr int link_silence_ms = 3000;
constexpr int first_reconnect_ms = 50;
constexpr int slowest_reconnect_ms = 500;
constexpr int linger_ms = 500; ///< for the goodbye
constexpr int messages_in_line = 1024;

/// Whoever connects to a port of this machine at which nobody listens may be given that very port
/// as its own, and TCP connects a socket to itself. ZeroMQ has no doubts about such a peer, and no
/// receiver could take the port any more.
bool is_connected_to_itself(int socket) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t length = sizeof here;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &length) != 0) return false;
  socklen_t other_length = sizeof there;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &other_length) != 0) return false;
  return (here.ss_family == AF_INET || here.ss_family == AF_INET6) && length == other_length &&
         std::memcmp(&here, &there, length) == 0;
}

/// The port is free at once when the socket is closed.
void let_close_at_once(int socket) {
  constexpr linger at_once{1, 0};
  (void)::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

} // namespace

struct forwarder::connection {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::dealer};
  zmq::socket_t monitor{context, zmq::socket_type::pair};

  explicit connection(const forward_settings& settings) {
    use_keys(socket, settings);
    socket.set(zmq::sockopt::immediate, true);
    socket.set(zmq::sockopt::linger, linger_ms);
    socket.set(zmq::sockopt::sndhwm, messages_in_line);
    socket.set(zmq::sockopt::rcvhwm, messages_in_line);
    socket.set(zmq::sockopt::maxmsgsize, std::int64_t{1} << 16); // acknowledgements and texts only
    socket.set(zmq::sockopt::heartbeat_ivl, link_heartbeat_ms);
    socket.set(zmq::sockopt::heartbeat_timeout, link_silence_ms);
    socket.set(zmq::sockopt::tcp_keepalive, 1);
    socket.set(zmq::sockopt::reconnect_ivl, first_reconnect_ms);
    socket.set(zmq::sockopt::reconnect_ivl_max, slowest_reconnect_ms);
    socket.set(zmq::sockopt::connect_timeout, link_silence_ms);
    socket.set(zmq::sockopt::handshake_ivl, link_silence_ms);
    const char* const events = "inproc://link-events";
    if (zmq_socket_monitor(socket.handle(), events,
                           ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                               ZMQ_EVENT_DISCONNECTED | handshake_failures) != 0) {
      throw zmq::error_t();
    }
    monitor.set(zmq::sockopt::linger, 0);
    monitor.connect(events);
  }
};

forwarder::forwarder(const forward_settings& settings, block_source& from, line_pace& pace,
                     line_pace::share share, report_function report)
    : settings_(settings), source_(from), pace_(pace), share_(share), lane_(from.identity()),
      report_(std::move(report)) {
  try {
    connection_ = std::make_unique<connection>(settings);
    connect_once();
  } catch (const zmq::error_t& e) {
    throw std::invalid_argument("cannot send to " + settings.to + ": " + e.what());
  }
}

forwarder::~forwarder() = default;

/// Without a lane there is nothing to say to anybody.
void forwarder::connect_once() {
  if (connecting_ || lane_.session == 0) return;
  connection_->socket.connect(settings_.to);
  connecting_ = true;
}

bool forwarder::connected() const {
  return welcomed_.load(std::memory_order_relaxed) &&
         steady_now() < answered_at_.load(std::memory_order_relaxed) + silence_limit;
}

void forwarder::drain_until(std::chrono::steady_clock::time_point deadline) {
  drain_until_ = nanoseconds(deadline.time_since_epoch());
}

void forwarder::run(std::stop_token stop, std::chrono::nanoseconds drain_time_limit) {
  const std::stop_callback wake(stop, [this] { source_.wake(); });
  std::uint64_t deadline = never;
  while (true) {
    const std::uint64_t now = steady_now();
    take_link_events();
    take_messages(now);
    if (stop.stop_requested()) {
      if (deadline == never)
        deadline = std::min(now + nanoseconds(drain_time_limit), drain_until_.load());
      while (leave_lane(now)) {
      }
      if (source_.blocks_waiting() == 0 || now >= deadline) break;
    }
    wait_until(std::min(act(now), deadline), now);
  }
  const std::uint64_t now = steady_now();
  if (welcomed_ && source_.blocks_waiting() == 0) {
    send(line_message::goodbye, source_.last_stored(), {}, now);
  }
  welcomed_ = false;
}

void forwarder::take_link_events() {
  zmq::message_t event;
  zmq::message_t address;
  while (connection_->monitor.recv(event, zmq::recv_flags::dontwait)) {
    if (event.more()) (void)connection_->monitor.recv(address);
    if (event.size() < sizeof(std::uint16_t) + sizeof(std::int32_t)) continue;
    const auto what = load<std::uint16_t>(event.data<std::byte>());
    const auto value = load<std::int32_t>(event.data<std::byte>() + sizeof what);
    if (what == ZMQ_EVENT_CONNECTED) {
      leave_itself(value);
      continue;
    }
    if (std::string why = why_not_let_in(settings_, what, value); !why.empty())
      report_once(std::move(why));
    linked_ = what == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    if (welcomed_.exchange(false) && !linked_) {
      report_once("the connection to " + settings_.to + " broke");
    }
    not_before_ = 0;
  }
}

void forwarder::leave_itself(int socket) {
  if (!is_connected_to_itself(socket)) return;
  let_close_at_once(socket);
  report_once("nobody listens at " + settings_.to + ", and the connection came back to itself");
  connection_->socket.disconnect(settings_.to);
  connection_->socket.connect(settings_.to);
  linked_ = false;
}

void forwarder::take_messages(std::uint64_t now) {
  zmq::message_t head;
  zmq::message_t body;
  while (connection_->socket.recv(head, zmq::recv_flags::dontwait)) {
    body.rebuild();
    bool more = head.more();
    for (int frames = 1; more; ++frames) { // all frames of a message are there at once
      zmq::message_t further;
      (void)connection_->socket.recv(further);
      more = further.more();
      if (frames == 1) body.move(further);
    }
    const auto header = read_line_header({head.data<std::byte>(), head.size()});
    if (header && header->session == lane_.session) {
      answered_at_ = now;
      take_message(*header, body.to_string_view(), now);
    }
  }
}

void forwarder::take_message(const line_header& header, std::string_view body, std::uint64_t now) {
  switch (header.type) {
  case line_message::welcome: return welcomed(header, now);
  case line_message::acknowledgement: return acknowledged(header, now);
  case line_message::refusal: return refused(body, now);
  default: return; // nothing that a receiver sends
  }
}

void forwarder::welcomed(const line_header& header, std::uint64_t now) {
  const bool more_than_there_is = header.sequence > source_.last_sealed();
  if (more_than_there_is && !source_.is_remainder()) {
    report_once("the receiver claims blocks that were never made");
    not_before_ = now + retry_time;
    return;
  }
  if (header.sequence < source_.last_stored()) {
    report_once(
        "the receiver no longer has blocks that were acknowledged: it stores elsewhere now");
  }
  if (welcomes_++ > 0) {
    counters_.reconnects.add();
    report_once("connected to " + settings_.to + " again");
  }
  welcomed_ = true;
  not_before_ = 0;
  window_ = std::max(header.credit, 1U);
  acknowledged(header, now);
  next_ = source_.last_stored() + 1;
  progress_at_ = now;
}

void forwarder::acknowledged(const line_header& header, std::uint64_t now) {
  const std::uint64_t before = source_.last_stored();
  const std::uint64_t sealed = source_.last_sealed();
  const std::uint64_t stored =
      source_.is_remainder() ? std::min(header.sequence, sealed) : header.sequence;
  if (stored <= before || stored > sealed) return;
  counters_.acknowledged.add(stored - before);
  source_.stored_up_to(stored, now);
  next_ = std::max(next_, stored + 1);
  window_ = std::max(header.credit, 1U);
  progress_at_ = now;
}

void forwarder::refused(std::string_view text, std::uint64_t now) {
  if (text.empty()) { // it does not know us: it was started anew
    if (welcomed_.exchange(false)) not_before_ = 0;
    return;
  }
  counters_.refusals.add();
  report_once("the receiver refuses: " + std::string(text));
  // Try again with a single block, until one is taken.
  next_ = source_.last_stored() + 1;
  window_ = 1;
  not_before_ = now + retry_time;
  progress_at_ = not_before_;
}

/// When all of a lane is stored: its session ends, and that of the next begins, if there is one.
bool forwarder::leave_lane(std::uint64_t now) {
  const std::uint64_t stored = source_.last_stored();
  if (source_.last_sealed() != stored || !source_.next_lane()) return false;
  if (welcomed_.exchange(false)) send(line_message::goodbye, stored, {}, now);
  lane_ = source_.identity();
  connect_once();
  highest_sent_ = source_.last_stored();
  next_ = highest_sent_ + 1;
  welcomes_ = 0;
  not_before_ = 0;
  return true;
}

/// Does what is due and says when the next thing will be.
std::uint64_t forwarder::act(std::uint64_t now) {
  leave_lane(now);
  if (!linked_ || lane_.session == 0) return never; // the link or the source wakes us
  if (now < not_before_) return not_before_;
  if (!welcomed_) {
    const line_hello_body body{lane_.run, lane_.node};
    const bool sent = send(line_message::hello, source_.last_stored() + 1,
                           {reinterpret_cast<const char*>(&body), sizeof body}, now);
    return not_before_ = now + (sent ? retry_time : quick_retry_time);
  }

  const std::uint64_t first = source_.last_stored() + 1;
  const std::uint64_t patience = nanoseconds(settings_.acknowledge_time_limit);
  if (next_ > first && now >= progress_at_ + patience) {
    // A block that ZeroMQ still holds has not left: the connection stalls, and a second copy would
    // only stand behind it.
    if (!source_.is_held(first)) next_ = first;
    progress_at_ = now;
  }
  std::uint64_t due = send_blocks(now);
  if (now >= last_sent_at_ + heartbeat_time) send(line_message::heartbeat, first - 1, {}, now);
  if (next_ > first) due = std::min(due, progress_at_ + patience);
  return std::min(due, std::max(now, last_sent_at_) + heartbeat_time);
}

std::uint64_t forwarder::send_blocks(std::uint64_t now) {
  while (next_ <= source_.last_sealed() && next_ <= source_.last_stored() + window_) {
    if (const auto wait = pace_.wait(share_, now); wait.count() > 0) return now + nanoseconds(wait);
    if (!send_block(now)) return now + hold_retry_time;
  }
  return never; // an acknowledgement or a sealed block wakes us
}

bool forwarder::send_block(std::uint64_t now) {
  const auto block = source_.hold(next_);
  if (!block) return false;
  const auto head = make_line_header(line_message::block, lane_.session, next_);
  // ZeroMQ sends from the source's own memory and calls back when it needs it no more.
  auto* const bytes = const_cast<std::byte*>(block->bytes.data());
  zmq::message_t body(
      bytes, block->bytes.size(),
      [](void*, void* hold) { static_cast<block_hold*>(hold)->release(); }, block->hold);
  auto& socket = connection_->socket;
  if (!socket.send(zmq::buffer(&head, sizeof head),
                   zmq::send_flags::sndmore | zmq::send_flags::dontwait)) {
    blocked_ = true;
    return false;
  }
  (void)socket.send(body, zmq::send_flags::dontwait);
  pace_.sent(share_, block->bytes.size(), now);
  counters_.blocks.add();
  counters_.bytes.add(block->bytes.size());
  if (next_ <= highest_sent_) counters_.resent.add();
  if (next_ == source_.last_stored() + 1) progress_at_ = now;
  highest_sent_ = std::max(highest_sent_, next_);
  last_sent_at_ = now;
  ++next_;
  return true;
}

bool forwarder::send(line_message type, std::uint64_t sequence, std::string_view body,
                     std::uint64_t now) {
  const auto head = make_line_header(type, lane_.session, sequence);
  auto& socket = connection_->socket;
  last_sent_at_ = now;
  if (!socket.send(zmq::buffer(&head, sizeof head),
                   zmq::send_flags::sndmore | zmq::send_flags::dontwait)) {
    return false;
  }
  return socket.send(zmq::buffer(body), zmq::send_flags::dontwait).has_value();
}

void forwarder::wait_until(std::uint64_t due, std::uint64_t now) {
  const auto wait = std::min(std::chrono::nanoseconds(due > now ? due - now : 0),
                             std::chrono::nanoseconds(longest_wait));
  zmq_pollitem_t items[] = {
      {connection_->socket.handle(), 0,
       static_cast<short>(ZMQ_POLLIN | (blocked_ ? ZMQ_POLLOUT : 0)), 0},
      {connection_->monitor.handle(), 0, ZMQ_POLLIN, 0},
      {nullptr, source_.wake_descriptor(), ZMQ_POLLIN, 0},
  };
  // A signal may end it early, which does no harm.
  (void)zmq_poll(items, static_cast<int>(std::size(items)),
                 std::chrono::ceil<std::chrono::milliseconds>(wait).count());
  blocked_ = false;
  if (items[2].revents != 0) source_.clear_wake();
}

void forwarder::report_once(std::string text) {
  if (text == last_report_) return;
  last_report_ = std::move(text);
  if (report_) report_(last_report_);
}

} // namespace l3
