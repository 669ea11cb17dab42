// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/link_connection.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "transport/format/endian.hpp"
#include "transport/link/link_address.hpp"
#include "transport/link/link_keys.hpp"
#include "transport/link/link_message.hpp"
#include "transport/system/name_lookup.hpp"

namespace l3 {

namespace {

// Options of ZeroMQ. Acknowledgements keep the data safe. The kernel finds a dead connection, not
// heartbeats of ZeroMQ: on a slow link their answer waits behind a block for longer than a dead
// peer is silent. No message is queued for a missing connection: those of a broken one are dropped,
// and the forwarder sends them again. The send mark only limits the memory of a stalled connection.
/// Also the time for which the kernel sends the same bytes again.
constexpr int link_silence_ms = 3000;
constexpr int first_reconnect_ms = 50;
constexpr int slowest_reconnect_ms = 500;
constexpr std::chrono::milliseconds pause_after_break(50);
constexpr int linger_ms = 500; ///< for the goodbye
constexpr int messages_in_line = 1024;
/// A receiver's frame is a header or a text.
constexpr byte_size largest_answer = kibibytes(64);
constexpr const char* event_address = "inproc://link-events";
/// Time for an address of a name before the next one is tried.
constexpr std::chrono::seconds time_for_address(1);
/// After this time without an answer the name servers count as silent.
constexpr std::chrono::seconds patience_with_name_servers(2);
/// Time between two look-ups of a name whose machine does not answer.
constexpr std::chrono::seconds time_between_look_ups(5);
/// Without a connection ZeroMQ reports an event at least after each time limit of 3 s and a pause.
/// After a peer has violated its protocol, it reports no more and never reconnects.
constexpr std::chrono::seconds longest_silence_of_zeromq(5);
/// The events that take_events() handles.
constexpr int events = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_DISCONNECTED |
                       ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                       ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

/// A socket that connects to a port of this machine without a listener may get that very port as
/// its own, and TCP then connects it to itself. ZeroMQ accepts such a peer, and no receiver could
/// bind the port any more.
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

/// Has no effect if the settings have no keys. Throws std::runtime_error with the file.
void use_keys(zmq::socket_t& socket, const forward_settings& settings) {
  if (settings.secret_key.empty()) return;
  const link_key secret = read_secret_key(settings.secret_key);
  const link_key own = public_half_of(secret);
  const link_key receiver = read_public_key(settings.receiver_key);
  socket.set(zmq::sockopt::curve_secretkey, zmq::buffer(secret));
  socket.set(zmq::sockopt::curve_publickey, zmq::buffer(own));
  socket.set(zmq::sockopt::curve_serverkey, zmq::buffer(receiver));
}

/// A text for people about an event of the socket; empty if there is nothing to report. Without it
/// a wrong key would look like silence, because ZeroMQ keeps trying.
std::string why_not_let_in(const forward_settings& settings, std::uint16_t event,
                           std::int32_t value) {
  const bool with_keys = !settings.secret_key.empty();
  switch (event) {
  case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    return "the receiver at " + settings.to +
           " does not know this daemon's key: add its public key to the receiver's file of --allow";
  case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    if (value != ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) break;
    return with_keys ? "the receiver at " + settings.to +
                           " uses no keys: start it with --secret-key and --allow"
                     : "the receiver at " + settings.to +
                           " refuses daemons without a key: set forward.secret_key and "
                           "forward.receiver_key";
  case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: break;
  default: return {};
  }
  // A receiver that cannot decrypt a greeting for another key closes the connection silently.
  if (!with_keys) return {};
  return "the receiver at " + settings.to +
         " broke off: it is restarting, or forward.receiver_key is not its key";
}

/// The next event of the monitored socket, with its value; nothing if none is left.
std::optional<std::pair<std::uint16_t, std::int32_t>> next_event(zmq::socket_t& monitor) {
  zmq::message_t event;
  zmq::message_t address;
  if (!monitor.recv(event, zmq::recv_flags::dontwait)) return std::nullopt;
  if (event.more()) (void)monitor.recv(address);
  return std::pair(load<std::uint16_t>(event.data<std::byte>()),
                   load<std::int32_t>(event.data<std::byte>() + sizeof(std::uint16_t)));
}

} // namespace

link_connection::link_connection(const forward_settings& settings, const link_way& way)
    : settings_(settings), from_(way.from), key_(key_of(way, settings)),
      by_name_(names_a_machine(way.to)) {
  settings_.to = way.to;
  if (!by_name_) numbers_.push_back(way.to);
  use_keys(socket_, settings);
  // Not ZMQ_IMMEDIATE: it makes libzmq 4.3.4 abort when a connection breaks between two frames of a
  // message.
  socket_.set(zmq::sockopt::linger, linger_ms);
  socket_.set(zmq::sockopt::sndhwm, messages_in_line);
  socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(largest_answer.bytes));
  socket_.set(zmq::sockopt::tcp_keepalive, 1);
  socket_.set(zmq::sockopt::tcp_maxrt, link_silence_ms);
  socket_.set(zmq::sockopt::reconnect_ivl, first_reconnect_ms);
  socket_.set(zmq::sockopt::reconnect_ivl_max, slowest_reconnect_ms);
  socket_.set(zmq::sockopt::connect_timeout, link_silence_ms);
  socket_.set(zmq::sockopt::handshake_ivl, link_silence_ms);
  if (zmq_socket_monitor(socket_.handle(), event_address, events) != 0) throw zmq::error_t();
  monitor_.connect(event_address);
}

void link_connection::connect_once() {
  if (connecting_ || connect_at_) return;
  connect();
  connecting_ = true;
  last_event_at_ = steady_clock::now();
}

/// Does nothing as long as the receiver's name has no known address. ZeroMQ gets numbers only: its
/// thread would wait for silent name servers, and the end of the process for its thread.
void link_connection::connect() {
  if (numbers_.empty()) return;
  const std::string& to = numbers_[number_ % numbers_.size()];
  endpoint_ = endpoint_from(from_, to);
  socket_.set(zmq::sockopt::ipv6, is_ipv6(to));
  socket_.connect(endpoint_);
}

void link_connection::disconnect() {
  if (!endpoint_.empty()) socket_.disconnect(endpoint_);
  endpoint_.clear();
}

/// Otherwise ZeroMQ would keep the messages of the broken connection and send them over the next
/// one, before a hello.
void link_connection::leave_broken(time_point now) {
  socket_.set(zmq::sockopt::linger, 0);
  disconnect();
  socket_.set(zmq::sockopt::linger, linger_ms);
  connecting_ = up_ = false;
  connect_at_ = now + pause_after_break;
}

/// ZeroMQ gives up an address after a protocol error, for example of another program at the
/// receiver's port.
void link_connection::connect_again_if_given_up(time_point now) {
  if (!connecting_ || up_ || now < last_event_at_ + longest_silence_of_zeromq) return;
  last_event_at_ = now;
  disconnect();
  connect();
}

/// A name may have several addresses, IPv4 and IPv6, and the receiver listens at one of them.
void link_connection::try_next_address(time_point now) {
  if (!by_name_ || !connecting_ || now < next_address_at_) return;
  next_address_at_ = now + time_for_address;
  disconnect();
  ++number_;
  connect();
}

/// Starts a look-up of the receiver's name, or takes its result. Earlier addresses stay in use when
/// it fails.
void link_connection::look_up_name(time_point now, const report_function& report) {
  const std::string host(host_of(settings_.to));
  if (!looked_up_.valid()) {
    if (now < look_up_at_) return;
    was_up_since_ = false;
    look_up_at_ = now;
    looked_up_ = look_up(host, addresses_of);
    return;
  }
  std::string why;
  if (looked_up_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    found_addresses found = looked_up_.get();
    look_up_at_ = now + time_between_look_ups;
    take_addresses(std::move(found.addresses));
    if (was_up_since_) return;
    unknown_.reset();
    why = std::move(found.failure);
  } else if (now >= look_up_at_ + patience_with_name_servers && !was_up_since_ && !unknown_) {
    why = silent_name_servers();
  }
  if (why.empty()) return;
  unknown_ = {settings_.to, key_, why};
  report("the name " + host + " (" + key_ + ") has no address on this machine: " + why);
}

/// IPv4 first.
void link_connection::take_addresses(std::vector<std::string> found) {
  if (found.empty()) return;
  const auto is_v4 = [](const std::string& a) { return a.find(':') == a.npos; };
  std::stable_partition(found.begin(), found.end(), is_v4); // of ranges: clang 14 cannot compile it
  const std::string port = settings_.to.substr(settings_.to.rfind(':'));
  for (std::string& a : found) {
    const bool v4 = is_v4(a);
    a.insert(0, v4 ? "tcp://" : "tcp://[").append(v4 ? "" : "]").append(port);
  }
  numbers_ = std::move(found);
  if (connecting_ && endpoint_.empty()) connect();
}

link_connection::news link_connection::take_events(const report_function& report) {
  news since;
  const time_point now = steady_clock::now();
  bool unanswered = false; // ZeroMQ pauses after a failed attempt
  bool was_up = up_;
  while (const auto event = next_event(monitor_)) {
    const auto& [what, value] = *event;
    last_event_at_ = now;
    if (!connecting_) continue; // of an abandoned connection
    if (what == ZMQ_EVENT_CONNECTED) {
      descriptor_ = value;
      leave_itself(value, report);
      unanswered = false;
      continue;
    }
    if (what == ZMQ_EVENT_CONNECT_RETRIED) {
      unanswered = true;
      continue;
    }
    if (std::string why = why_not_let_in(settings_, what, value); !why.empty())
      report(std::move(why));
    up_ = what == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    since.any = true;
    since.down = since.down || !up_;
    was_up = was_up || up_;
    unanswered = false;
    if (!up_) continue;
    next_address_at_ = now + time_for_address;
    was_up_since_ = true;
  }
  if (unanswered) {
    up_ = false;
    if (!from_.empty() && !is_local_address(from_))
      report("no network card of this machine has the address " + from_ +
             " (forward.from): nothing is sent from there until a card has it");
    try_next_address(now);
  }
  if (by_name_ && connecting_ && (unanswered || looked_up_.valid() || endpoint_.empty()))
    look_up_name(now, report);
  if (up_) unknown_.reset();
  if (was_up && since.down) leave_broken(now);
  if (connect_at_ && now >= *connect_at_) {
    connect_at_.reset();
    connect_once();
  }
  connect_again_if_given_up(now);
  return since;
}

/// ZeroMQ owns the socket: if it has just closed it, the question fails or is about another one,
/// which is harmless. Without a queue the peer's system may take the bytes of a dead receiver.
link_connection::line_state link_connection::look_at_line() {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (!up_ || ::getsockopt(descriptor_, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  const bool more = info.tcpi_bytes_acked > std::exchange(bytes_taken_, info.tcpi_bytes_acked);
  return {more && info.tcpi_notsent_bytes > 0,
          info.tcpi_notsent_bytes == 0 && info.tcpi_unacked == 0};
}

void link_connection::leave_itself(int socket, const report_function& report) {
  if (!is_connected_to_itself(socket)) return;
  constexpr linger at_once{1, 0}; // frees the port when the socket is closed
  (void)::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  report("no receiver listens at " + settings_.to + ": the connection reached itself");
  disconnect();
  connect();
  up_ = false;
}

std::optional<link_connection::message> link_connection::receive() {
  zmq::message_t head;
  while (socket_.recv(head, zmq::recv_flags::dontwait)) {
    message got;
    bool more = head.more();
    for (int frames = 1; more; ++frames) { // all frames of a message arrive together
      zmq::message_t further;
      (void)socket_.recv(further);
      more = further.more();
      if (frames == 1) got.body.move(further);
    }
    if (const auto header = read_link_header({head.data<std::byte>(), head.size()})) {
      got.header = *header;
      return got;
    }
  }
  return std::nullopt;
}

bool link_connection::send(const link_header& head, std::string_view body) {
  return socket_.send(zmq::buffer(&head, sizeof head),
                      zmq::send_flags::sndmore | zmq::send_flags::dontwait) &&
         socket_.send(zmq::buffer(body), zmq::send_flags::dontwait);
}

bool link_connection::send(const link_header& head, const held_block& block) {
  if (!socket_.send(zmq::buffer(&head, sizeof head),
                    zmq::send_flags::sndmore | zmq::send_flags::dontwait)) {
    blocked_ = true;
    return false;
  }
  zmq::message_t body(
      const_cast<std::byte*>(block.bytes.data()), block.bytes.size(),
      [](void*, void* held) { delete static_cast<held_block*>(held); }, new held_block(block));
  (void)socket_.send(body, zmq::send_flags::dontwait);
  return true;
}

bool link_connection::wait(std::span<link_connection* const> all, int descriptor,
                           std::chrono::milliseconds limit) {
  for (const link_connection* const c : all)
    if (c->connect_at_ || c->looked_up_.valid()) limit = std::min(limit, pause_after_break);
  std::vector<zmq_pollitem_t> items{{nullptr, descriptor, ZMQ_POLLIN, 0}};
  for (link_connection* const c : all) {
    const auto events = static_cast<short>(ZMQ_POLLIN | (c->blocked_ ? ZMQ_POLLOUT : 0));
    items.push_back({c->socket_.handle(), 0, events, 0});
    items.push_back({c->monitor_.handle(), 0, ZMQ_POLLIN, 0});
    c->blocked_ = false;
  }
  // A signal may end it early, which is harmless.
  (void)zmq_poll(items.data(), static_cast<int>(items.size()), limit.count());
  return items.front().revents != 0;
}

} // namespace l3
