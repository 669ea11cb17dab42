// SPDX-License-Identifier: Apache-2.0
#include "receiver/block_receiver.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <zmq.hpp>

#include "receiver/link_guard.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/time.hpp"
#include "transport/link/link_address.hpp"
#include "transport/link/link_message.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;

/// Per connection and direction. A connection with more messages stops reading, but no daemon
/// exceeds its credit. Further acknowledgements are dropped, because later ones include them.
constexpr int messages_in_line = 160;
constexpr int messages_in_a_step = 256;
/// The receiver takes all waiting messages in one step and acknowledges once at its end. An
/// acknowledgement waits little longer than this.
constexpr auto longest_step = 5ms;
constexpr int link_silence_ms = 3000;
/// The kernel probes a silent connection every second.
constexpr int asked_after_s = 1;
constexpr int asked_again_s = 1;
constexpr int asked_times = 2;
constexpr int linger_ms = 200;
constexpr int connections_waiting = 1024; ///< for accept()
/// Early blocks may take one part in this many of the memory for waiting messages.
constexpr std::uint64_t part_of_early = 4;
constexpr byte_size program_memory = mebibytes(48); ///< without messages and blocks
constexpr byte_size event_memory{144};              ///< per remembered event
/// For the lists of the store's files, and of the sessions and spills in open files.
constexpr byte_size files_memory = mebibytes(16);
constexpr auto retry_time = 1s; ///< after a store error
/// Time between two checks for finished files.
constexpr auto completion_interval = 500ms;
constexpr auto hearing_interval = 1s; ///< of a daemon's heartbeats
/// A machine that has not answered the kernel's probes for so long is away.
constexpr auto longest_of_probes = 1500ms;
constexpr auto slow_write = 1s;

/// The sender's key name, or its address.
std::string sender_of(const zmq::message_t& frame) {
  const auto property = [&](const char* name) -> std::string {
    const char* const text = zmq_msg_gets(frame.handle(), name);
    return text != nullptr ? text : "";
  };
  const std::string key = property("User-Id");
  return key.empty() ? "address " + property("Peer-Address") : "key " + key;
}

/// The port of the other end of a TCP socket; 0 if it has none.
std::uint32_t port_behind(int socket) {
  sockaddr_storage there{};
  socklen_t length = sizeof there;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &length) != 0) return 0;
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  return 1 + ntohs(reinterpret_cast<const sockaddr_in&>(there).sin_port);
}

void note_socket(link_peer& of, int socket) {
  of.socket = socket;
  of.port = port_behind(socket);
  of.bytes = 0;
}

/// A daemon's blocks in flight are together at most twice the largest block. So its credit shrinks
/// as its blocks get longer.
constexpr std::uint64_t largest_under_way = 2;
constexpr std::uint64_t fewest_under_way = 2;

/// The credit of a daemon whose longest block had this length. 0 means that it has sent none: they
/// are then assumed to be half of the largest, which is koto-l3d's own limit.
std::uint32_t credit_for(std::uint64_t longest, const receive_settings& settings) {
  const std::uint64_t largest = settings.largest_block.bytes;
  const std::uint64_t blocks = largest_under_way * largest / (longest > 0 ? longest : largest / 2);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      blocks, std::min<std::uint64_t>(fewest_under_way, settings.credit), settings.credit));
}

} // namespace

/// The largest block counts three times: itself, its copy without repeats, and the list of its
/// events. Remembered events, waiting messages, lists of files and published events come on top.
byte_size block_receiver::memory_plan(const receive_settings& settings) {
  return {program_memory.bytes + settings.waiting.bytes + 3 * settings.largest_block.bytes +
          remembered_events * event_memory.bytes + files_memory.bytes +
          (settings.publish.empty() ? 0 : event_publisher::memory.bytes)};
}

struct block_receiver::link {
  zmq::context_t context{1};
  link_guard guard;
  zmq::socket_t socket{context, zmq::socket_type::router};

  /// `address`: a numeric address to listen on.
  link(const receive_settings& settings, const std::string& address, connection_counters& counters,
       const report_function& report)
      : guard(context, settings, counters, report) {
    socket.set(zmq::sockopt::linger, linger_ms);
    socket.set(zmq::sockopt::rcvhwm, messages_in_line);
    socket.set(zmq::sockopt::sndhwm, messages_in_line);
    socket.set(zmq::sockopt::maxmsgsize,
               static_cast<std::int64_t>(settings.largest_block.bytes + sizeof(block_header)));
    socket.set(zmq::sockopt::handshake_ivl, link_silence_ms);
    // No heartbeats of ZeroMQ: libzmq 4.3.4 aborts if a socket at its high-water mark has them and
    // the peer resets the connection. The kernel's keep-alive finds dead peers.
    socket.set(zmq::sockopt::tcp_keepalive, 1);
    socket.set(zmq::sockopt::tcp_keepalive_idle, asked_after_s);
    socket.set(zmq::sockopt::tcp_keepalive_intvl, asked_again_s);
    socket.set(zmq::sockopt::tcp_keepalive_cnt, asked_times);
    socket.set(zmq::sockopt::tcp_maxrt, link_silence_ms);
    socket.set(zmq::sockopt::backlog, connections_waiting);
    guard.guard(socket);
    socket.set(zmq::sockopt::ipv6, is_ipv6(address));
    socket.bind(address);
  }
};

block_receiver::block_receiver(receive_settings settings, store_writer& store,
                               report_function report)
    : mark_(1 + std::random_device()() % ~0U), settings_(std::move(settings)), store_(store),
      before_(store.committed()), report_(std::move(report)),
      early_({settings_.waiting.bytes / part_of_early}) {
  recall(recent_, store_.folder());
  try {
    link_ = std::make_unique<link>(settings_, endpoint_to_listen_at(settings_.bind),
                                   counters_.connections, report_);
  } catch (const zmq::error_t& e) {
    throw std::runtime_error("cannot listen on " + settings_.bind + ": " + e.what());
  }
  if (settings_.publish.empty()) return;
  try {
    publisher_ = std::make_unique<event_publisher>(settings_.publish, settings_.publish_rate);
  } catch (const zmq::error_t& e) {
    throw std::runtime_error("cannot publish on " + settings_.publish + ": " + e.what());
  }
}

block_receiver::~block_receiver() = default;

void block_receiver::close() {
  link_->guard.attend(steady_clock::now());
  link_->socket.close();
}

std::string block_receiver::endpoint() const {
  return link_->socket.get(zmq::sockopt::last_endpoint);
}

bool block_receiver::step(std::chrono::milliseconds wait) {
  link_guard& guard = link_->guard;
  const auto [questions, events] = guard.to_poll();
  zmq_pollitem_t items[] = {{link_->socket.handle(), 0, ZMQ_POLLIN, 0}, questions, events};
  (void)zmq_poll(items, static_cast<int>(std::size(items)), wait.count());
  const time_point now = steady_clock::now();
  guard.attend(now);
  if (items[0].revents == 0) {
    complete_files(now);
    return false;
  }
  for (int i = 0; i < messages_in_a_step && steady_clock::now() <= now + longest_step; ++i) {
    if (!take_message(now)) break;
  }
  commit(now);
  const time_point end = steady_clock::now();
  if (end - now >= slow_write)
    counters_.slow_milliseconds.add(static_cast<std::uint64_t>((end - now) / 1ms));
  answer_all();
  complete_files(end);
  return true;
}

bool block_receiver::take_message(time_point now) {
  // A ROUTER puts the connection's address in front of a message. All frames of a message are
  // available at once.
  zmq::message_t frames[3]; // address, header, body
  std::size_t count = 0;
  bool more = true;
  while (more) {
    zmq::message_t frame;
    if (!link_->socket.recv(frame, zmq::recv_flags::dontwait)) return false;
    more = frame.more();
    if (count < std::size(frames)) frames[count].move(frame);
    ++count;
  }
  counters_.messages.add();
  auto& [address_frame, head, body_frame] = frames;
  const auto header = read_link_header({head.data<std::byte>(), head.size()});
  if (count != std::size(frames) || !header || header->session == 0 ||
      header->sequence > last_sequence) {
    counters_.garbage.add();
    return true;
  }
  const std::string address = address_frame.to_string();
  const std::span<std::byte> body(body_frame.data<std::byte>(), body_frame.size());
  const int socket = zmq_msg_get(head.handle(), ZMQ_SRCFD);

  if (header->type == link_message::hello) {
    if (header->sequence != 0 && body.size() == sizeof(link_hello_body)) {
      const auto who = load<link_hello_body>(body.data());
      take_hello(*header, {address, sender_of(body_frame), who.run, who.node, socket}, now);
    } else {
      counters_.garbage.add();
    }
    return true;
  }
  link_peer* const speaker = peers_.speaker(header->session, address);
  if (speaker == nullptr) {
    if (header->type == link_message::block) counters_.strangers.add();
    send(address, link_message::refusal, header->session, 0);
    return true;
  }
  link_peer& from = *speaker;
  from.address = address;
  from.heard_at = now;
  note_socket(from, socket);
  switch (header->type) {
  case link_message::block: take_blocks(from, *header, body_frame, now); break;
  case link_message::heartbeat: from.acknowledge = true; break;
  case link_message::goodbye:
    if (!std::exchange(from.gone, true) && from.stored) counters_.goodbyes.add();
    store_.end_session(header->session);
    early_.drop_if([&](std::uint64_t s, std::uint64_t) { return s == header->session; });
    break;
  default: counters_.garbage.add();
  }
  return true;
}

void block_receiver::take_hello(const link_header& header, const hello_origin& origin,
                                time_point now) {
  const std::uint64_t session = header.session;
  const bool is_new = peers_.find(session) == nullptr;
  link_peer& from = peers_.greet(session, origin.address, now);
  const std::uint64_t last = store_.last_stored(session, header.sequence);
  from.first = header.sequence;
  early_.drop_if([&](std::uint64_t s, std::uint64_t number) {
    return s == session && number <= header.sequence;
  });
  from.in_words = origin.in_words;
  from.run = origin.run;
  from.node = origin.node;
  note_socket(from, origin.socket);
  from.take_process(process_of_hello(header), now);
  from.stored = last != 0;
  if (is_new) from.last_event = recent_.last_of(session);
  from.welcomes.push_back(origin.address); // only after a commit, because it says what is stored
}

/// Also takes the early blocks after it.
void block_receiver::take_blocks(link_peer& from, const link_header& header, zmq::message_t& body,
                                 time_point now) {
  counters_.blocks.add();
  counters_.bytes.add(body.size());
  from.longest = std::max<std::uint64_t>(from.longest, body.size());
  from.acknowledge = true;
  take_block(from, header, body, now);
  link_header next = header;
  const auto last = [&] { return store_.last_stored(header.session, from.first); };
  while (auto early = early_.take(header.session, next.sequence = last() + 1))
    take_block(from, next, *early, now);
}

void block_receiver::take_block(link_peer& from, const link_header& header, zmq::message_t& message,
                                time_point now) {
  const std::span<std::byte> body(message.data<std::byte>(), message.size());
  const std::uint64_t last = store_.last_stored(header.session, from.first);
  if (header.sequence <= last) return counters_.duplicates.add();
  // Some receiver acknowledged the blocks before the daemon's first one, so they are no gap.
  const std::uint64_t missing = std::max(last + 1, from.first);
  if (header.sequence != missing) {
    // A block before the daemon's announced first one shows that an older hello was read after a
    // newer one. A repeated block while the first one is missing may show the same. Both ask for a
    // new hello.
    const bool is_again = early_.has(header.session, header.sequence) && missing == from.first;
    if (header.sequence < from.first || is_again)
      send(from.address, link_message::refusal, header.session, 0);
    const bool may_overtake = from.connections.size() > 1;
    if (may_overtake && early_.keep(header.session, header.sequence, missing, message))
      return counters_.early.add();
    return counters_.gaps.add();
  }
  block_header block;
  auto fault = check_block(body, block);
  if (fault == block_fault::none &&
      (block.session != header.session || block.sequence != header.sequence)) {
    fault = block_fault::header_checksum; // valid, but not the announced block
  }
  if (fault == block_fault::none && !identify_events(body, block, now)) fault = block_fault::events;
  if (fault != block_fault::none) return counters_.damaged.add(fault);

  if (store_error_ && now < retry_at_) {
    from.refuse = true;
    return;
  }
  if (block.repeated != 0) { // a sender must not set this
    block.repeated = 0;
    seal_header(block);
    l3::store(body.data(), block);
  }
  const auto ends = first_and_last();
  const auto rest = without_repeats(body, block);
  // The stored copies of left-out events must be on disk first. Otherwise a power cut could remove
  // them and leave this block.
  auto error = block.repeated != 0 ? store_.commit() : std::error_code();
  if (!error) error = store_.append(rest, block);
  if (error) {
    forget_what_is_not_stored();
    store_failed(error, now);
    from.refuse = true;
    return;
  }
  remember_events(block);
  if (publisher_) publisher_->sample(rest, block, now);
  from.stored = true;
  from.stored_at = now;
  if (ends) {
    if (!from.first_event) from.first_event = ends->first;
    if (!from.last_event || is_before(*from.last_event, ends->second))
      from.last_event = ends->second;
  }
  from.lag = block_lag(block.sealed_at, nanoseconds_since_1970());
  counters_.repeated_events.add(block.repeated);
  if (show_) show_(rest, now);
  recovering_ = static_cast<bool>(store_error_);
}

/// On a slow link a block takes longer than a daemon may be silent: then its bytes show that it
/// lives. A daemon that is stopped for a while is silent, but its machine answers.
void block_receiver::hear_bytes(time_point now) {
  for (auto& [session, from] : peers_) {
    if (from.gone || now < from.heard_at + hearing_interval) continue;
    tcp_info info{};
    socklen_t length = sizeof info;
    from.is_open = from.port != 0 && port_behind(from.socket) == from.port &&
                   ::getsockopt(from.socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
    if (!from.is_open) continue;
    from.is_open = std::chrono::milliseconds(info.tcpi_last_ack_recv) < longest_of_probes;
    const std::uint64_t before = std::exchange(from.bytes, info.tcpi_bytes_received);
    if (before != 0 && from.bytes > before) from.heard_at = now;
  }
}

/// Call it without uncommitted blocks.
void block_receiver::complete_files(time_point now) {
  if (now < completed_at_ + completion_interval) return;
  completed_at_ = now;
  hear_bytes(now);
  early_.drop_if([&](std::uint64_t session, std::uint64_t) {
    const link_peer* const from = peers_.find(session);
    return from == nullptr || !from->is_there(now);
  });
  if (const std::string why = store_.folder().why_gone(); !why.empty())
    throw std::runtime_error(why);
  if (const auto error = store_.complete_idle_files()) store_failed(error, now);
  for (const std::string& text : store_.take_news())
    if (report_) report_(text);
}

/// Blocks count as stored once they are committed. If the commit fails, they are taken back, and
/// the waiting daemons get the reason.
void block_receiver::commit(time_point now) {
  if (const auto error = store_.commit()) {
    forget_what_is_not_stored();
    store_failed(error, now);
    for (auto& [session, from] : peers_) from.refuse = from.refuse || from.acknowledge;
  }
  if (publisher_) publisher_->publish();
  uncommitted_.clear();
  uncommitted_events_.clear();
  if (std::exchange(recovering_, false)) {
    store_error_.clear();
    failing_since_.reset();
  }
  const auto& all = store_.committed();
  counters_.stored_blocks.add(all.blocks - before_.blocks - counters_.stored_blocks);
  counters_.stored_events.add(all.events - before_.events - counters_.stored_events);
}

/// Waits while the disk is full. A disk that fails for long ends this program, and so does a file
/// that is removed while it is written: daemons keep their blocks and send them again.
void block_receiver::store_failed(const std::error_code& error, time_point now) {
  if (const std::string why = store_.folder().why_gone(); !why.empty())
    throw std::runtime_error(why);
  if (error == std::errc::no_such_file_or_directory)
    throw std::runtime_error(store_.folder().path().string() +
                             ": an open file of the store was removed");
  counters_.store_errors.add();
  if (is_want_of_room(error))
    failing_since_.reset();
  else if (!failing_since_)
    failing_since_ = now;
  if (failing_since_ && now - *failing_since_ >= settings_.longest_failure)
    throw std::runtime_error(fmt::format("the disk of {} has refused every block for a minute: {}",
                                         store_.folder().path().string(), error.message()));
  store_error_ = error;
  recovering_ = false;
  retry_at_ = now + retry_time;
}

void block_receiver::answer_all() {
  for (auto& [session, to] : peers_) {
    for (const std::string& address : std::exchange(to.welcomes, {})) {
      send(address, link_message::welcome, session, store_.last_stored(session, to.first));
    }
    if (std::exchange(to.acknowledge, false)) {
      send(to.address, link_message::acknowledgement, session,
           store_.last_stored(session, to.first));
    }
    if (std::exchange(to.refuse, false)) {
      send(to.address, link_message::refusal, session, 0,
           "the store cannot be written: " + store_error_.message());
    }
  }
}

std::uint32_t block_receiver::credit_of(std::uint64_t session) const {
  const link_peer* const to = peers_.find(session);
  const std::uint64_t longest = to != nullptr ? to->longest : 0;
  return credit_for(longest, settings_);
}

void block_receiver::send(const std::string& address, link_message type, std::uint64_t session,
                          std::uint64_t sequence, std::string_view body) {
  const auto head = make_link_header(type, session, sequence, credit_of(session));
  const bool is_answer = type == link_message::welcome || type == link_message::acknowledgement;
  link_answer_body answer;
  if (is_answer) {
    answer.receiver = mark_;
    const link_peer* const to = peers_.find(session);
    answer.missing = std::max(sequence + 1, to != nullptr ? to->first : 0);
    answer.early = early_.behind(session, answer.missing);
    answer = sealed(answer);
    body = {reinterpret_cast<const char*>(&answer), sizeof answer};
  }
  // A ROUTER drops messages to a closed connection; its daemon asks again.
  auto& socket = link_->socket;
  (void)socket.send(zmq::buffer(address), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
  (void)socket.send(zmq::buffer(&head, sizeof head),
                    zmq::send_flags::sndmore | zmq::send_flags::dontwait);
  (void)socket.send(zmq::buffer(body), zmq::send_flags::dontwait);
}

void block_receiver::report(occasional& kind, time_point now, const std::string& text) {
  const auto times = kind.happened(now);
  if (!times || !report_) return;
  report_(*times == 1 ? text : fmt::format("{} (and {} more like it)", text, *times - 1));
}

} // namespace l3
