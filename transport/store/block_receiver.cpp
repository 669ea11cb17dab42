// SPDX-License-Identifier: Apache-2.0
#include "transport/store/block_receiver.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <zmq.hpp>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/link/link_message.hpp"
#include "transport/link/session_token.hpp"
#include "transport/store/link_guard.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;

/// A sender keeps what is not acknowledged, which is never more than what the daemons before it had
/// under way: some 50 MB for what is remembered, of each of 128 sessions still 2048 events at their
/// beginning and at their end. A node that was started again has up to four sessions: two, and what
/// the one before left on disk.
constexpr std::size_t remembered_events = std::size_t{1} << 19;
constexpr std::size_t remembered_sessions = 128;
/// That ZeroMQ holds of a connection, each of any size; the TCP connection stands still beyond.
constexpr int messages_in_line = 4;
constexpr int answers_in_line = 128;
/// If a step found a whole line of messages, others are behind it.
constexpr auto refill_time = 1ms;
constexpr int messages_in_a_step = 256;
/// The receiver takes all waiting messages in one step and acknowledges once behind them. An
/// acknowledgement waits little longer than this.
constexpr auto longest_step = 5ms;
/// A daemon sends a heartbeat every second: one that was not heard for so long is not there.
constexpr auto silence_limit = 5s;
constexpr int link_heartbeat_ms = 1000;
constexpr int link_silence_ms = 3000;
constexpr int linger_ms = 200;
/// For accept(). Of a burst of strangers these are the ones that a daemon has to wait behind.
constexpr int connections_waiting = 1024;
constexpr std::size_t most_connections = 1024; ///< at a time
/// Of a connection over which nothing was said yet but a handshake, hellos and ZeroMQ's heartbeats.
constexpr byte_size most_of_a_stranger = kibibytes(24);
constexpr byte_size slack = mebibytes(1);
/// ZeroMQ's context option 10: frames get memory of their own. Else each small one that comes alone
/// holds the whole buffer into which it was read, 500 times its size.
constexpr int share_read_buffers = 10;
/// Of the program, without messages and blocks; of what a connection takes without them.
constexpr byte_size program_memory = mebibytes(48);
constexpr byte_size connection_memory = kibibytes(64);
constexpr byte_size event_memory{144}; ///< of a remembered one
/// The rest is for what comes before connections are shut down.
constexpr std::uint64_t most_percent_of_plan = 95;
constexpr auto retry_time = 1s; ///< after a store error
/// How old a look at the store's files may be when an answer relies on what they hold.
constexpr auto fresh_look = 100ms;

/// The machine at the other end; empty if ZeroMQ does not say.
std::string sender_of(const zmq::message_t& frame) {
  const char* const address = zmq_msg_gets(frame.handle(), "Peer-Address");
  return address != nullptr ? address : "";
}

/// ZeroMQ holds a line of them, and the one that comes.
byte_size most_of_a_daemon(const receive_settings& settings) {
  const std::uint64_t message =
      settings.largest_block.bytes + sizeof(block_header) + sizeof(link_header) + slack.bytes;
  return {(messages_in_line + 1) * message};
}

} // namespace

/// A block, its rest without repeats, and for each of its events, 32 bytes or more, as many until
/// the commit; what is remembered; connections; messages.
byte_size block_receiver::memory_plan(const receive_settings& settings) {
  return {program_memory.bytes + settings.waiting.bytes + 3 * settings.largest_block.bytes +
          remembered_events * event_memory.bytes + most_connections * connection_memory.bytes};
}

struct block_receiver::link {
  zmq::context_t context{1};
  link_guard guard;
  zmq::socket_t socket{context, zmq::socket_type::router};

  link(const receive_settings& settings, connection_counters& counters,
       const report_function& report)
      : guard(context, settings, counters, report) {
    (void)zmq_ctx_set(context.handle(), share_read_buffers, 0);
    socket.set(zmq::sockopt::linger, linger_ms);
    socket.set(zmq::sockopt::rcvhwm, messages_in_line);
    socket.set(zmq::sockopt::sndhwm,
               answers_in_line); // beyond, acknowledgements are dropped: the next ones hold more
    socket.set(zmq::sockopt::maxmsgsize,
               static_cast<std::int64_t>(settings.largest_block.bytes + sizeof(block_header)));
    socket.set(zmq::sockopt::heartbeat_ivl, link_heartbeat_ms);
    socket.set(zmq::sockopt::heartbeat_timeout, link_silence_ms);
    socket.set(zmq::sockopt::handshake_ivl, link_silence_ms);
    socket.set(zmq::sockopt::tcp_keepalive, 1);
    socket.set(zmq::sockopt::backlog, connections_waiting);
    guard.guard(socket, {.stranger = most_of_a_stranger,
                         .trusted = most_of_a_daemon(settings),
                         .memory = {memory_plan(settings).bytes / 100 * most_percent_of_plan},
                         .connections = most_connections});
    socket.bind(settings.bind);
  }
};

block_receiver::block_receiver(receive_settings settings, store_writer& store,
                               report_function report)
    : settings_(std::move(settings)), store_(store), before_(store.committed()),
      report_(std::move(report)), recent_(remembered_events, remembered_sessions) {
  recall(recent_, store_.folder());
  try {
    link_ = std::make_unique<link>(settings_, counters_.connections, report_);
  } catch (const zmq::error_t& e) {
    throw std::runtime_error("cannot listen on " + settings_.bind + ": " + e.what());
  }
}

block_receiver::~block_receiver() = default;

std::string block_receiver::endpoint() const {
  return link_->socket.get(zmq::sockopt::last_endpoint);
}

std::size_t block_receiver::open_sessions(time_point now) const {
  return static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.end(), [&](const auto& p) {
    return !p.second.gone && now < p.second.heard_at + silence_limit;
  }));
}

bool block_receiver::step(std::chrono::milliseconds wait) {
  link_guard& guard = link_->guard;
  zmq_pollitem_t items[] = {{link_->socket.handle(), 0, ZMQ_POLLIN, 0},
                            {guard.questions(), 0, ZMQ_POLLIN, 0}};
  (void)zmq_poll(items, static_cast<int>(std::size(items)), wait.count());
  const time_point now = steady_clock::now();
  guard.attend(now);
  if (items[0].revents == 0) {
    guard.watch().took_all();
    return false;
  }
  int taken = 0;
  while (taken < messages_in_a_step && steady_clock::now() <= now + longest_step) {
    if (take_message(now)) {
      ++taken;
      continue;
    }
    guard.watch().took_all();
    if (taken < messages_in_line) break;
    if (zmq_poll(items, 1, refill_time.count()) <= 0) break;
  }
  commit(now);
  answer_all();
  return true;
}

bool block_receiver::take_message(time_point now) {
  // A ROUTER puts the connection's address before the frames of a message, which are all there at
  // once.
  zmq::message_t frames[3]; // address, header, body
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  int connection = -1;
  link_guard& guard = link_->guard;
  bool more = true;
  while (more) {
    zmq::message_t frame;
    if (!link_->socket.recv(frame, zmq::recv_flags::dontwait)) return false;
    more = frame.more();
    if (count == 1) connection = connection_watch::connection_of(frame);
    if (count > 0) bytes += connection_watch::bytes_on_the_wire(frame.size(), guard.with_keys());
    if (count < std::size(frames)) frames[count].move(frame);
    ++count;
  }
  guard.watch().took(connection, bytes);
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

  if (header->type == link_message::hello) {
    if (const auto claim = read_hello(*header, body)) {
      if (take_hello(*header, *claim, address, sender_of(body_frame), now))
        guard.watch().trust(connection);
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
  switch (header->type) {
  case link_message::block: take_block(from, *header, body, now); break;
  case link_message::heartbeat: from.acknowledge = true; break;
  case link_message::goodbye:
    if (!std::exchange(from.gone, true) && from.stored) counters_.goodbyes.add();
    break;
  default: counters_.garbage.add();
  }
  return true;
}

void block_receiver::take_block(link_peer& from, const link_header& header,
                                std::span<std::byte> body, time_point now) {
  counters_.blocks.add();
  counters_.bytes.add(body.size());
  from.acknowledge = true;
  const std::uint64_t last = store_.last_stored(header.session, from.first);
  if (header.sequence <= last) {
    answers_from_older_files_ = true;
    return counters_.duplicates.add();
  }
  // Blocks before the daemon's first were acknowledged by somebody: there is no gap before that
  // one.
  if (header.sequence != std::max(last + 1, from.first)) {
    counters_.gaps.add();
    // What comes from before the first block that it is said to have shows that an older hello was
    // read behind a newer one: it has to say hello again.
    if (header.sequence < from.first) send(from.address, link_message::refusal, header.session, 0);
    return;
  }
  block_header block;
  auto fault = check_block(body, block);
  if (fault == block_fault::none &&
      (block.session != header.session || block.sequence != header.sequence)) {
    fault = block_fault::header_checksum; // whole, but not the one that was announced
  }
  if (fault != block_fault::none) return counters_.damaged.add(fault);

  if (store_error_ && now < retry_at_) {
    from.refuse = true;
    return;
  }
  if (const std::uint16_t flags = from.proven ? block_proven : 0; block.flags != flags) {
    block.flags = flags;
    seal_header(block);
    l3::store(body.data(), block);
  }
  const std::uint32_t repeated = block.repeated;
  const auto rest = without_repeats(body, block);
  // What is left out must be on the disk before, and still be there: a power cut could take the
  // block that has it and leave this one, and a person may have removed its file.
  auto error = block.repeated != repeated ? commit_and_look(now) : std::error_code();
  if (!error) error = store_.append(rest, block);
  if (error) {
    forget_what_is_not_stored();
    store_failed(error, now);
    tell_what_was_lost();
    from.refuse = true;
    return;
  }
  from.stored = true;
  counters_.repeated_events.add(block.repeated - repeated);
  recovering_ = static_cast<bool>(store_error_);
}

/// The block as it is, or with a new header and the rest of its events.
std::span<const std::byte> block_receiver::without_repeats(std::span<const std::byte> body,
                                                           block_header& block) {
  const auto payload = body.subspan(sizeof(block_header));
  event_walk walk(payload);
  std::uint32_t repeated = 0;
  shortened_.clear();
  while (const auto event = walk.next()) {
    const auto who = recent_events::identity_of(*event);
    const bool again = recent_.has_from_another(block.session, block.run, who);
    const auto before = static_cast<std::size_t>(event->data() - payload.data());
    if (again && repeated++ == 0) {
      shortened_.assign(body.begin(),
                        body.begin() + static_cast<std::ptrdiff_t>(sizeof(block_header) + before));
    } else if (!again && repeated > 0) {
      shortened_.insert(shortened_.end(), event->begin(), event->end());
    }
    if (again) continue;
    recent_.add(block.session, block.run, who);
    uncommitted_.push_back({block.session, block.sequence, who});
  }
  if (repeated == 0 || !walk.complete() || repeated > block.events) return body;
  block.events -= repeated;
  block.repeated += repeated;
  block.payload_bytes = static_cast<std::uint32_t>(shortened_.size() - sizeof(block_header));
  block.payload_crc = crc32c(std::span(shortened_).subspan(sizeof(block_header)));
  seal_header(block);
  store(shortened_.data(), block);
  return shortened_;
}

/// After an error the store may have taken back blocks of this step, or have committed some of them
/// on its way: it knows best. Backwards, as recent_events wants it.
void block_receiver::forget_what_is_not_stored() {
  const auto is_stored = [&](const new_event& e) {
    return e.sequence <= store_.last_stored(e.session);
  };
  for (auto e = uncommitted_.rbegin(); e != uncommitted_.rend(); ++e) {
    if (!is_stored(*e)) recent_.take_back(e->session, e->who);
  }
  std::erase_if(uncommitted_, [&](const new_event& e) { return !is_stored(e); });
}

std::error_code block_receiver::commit_and_look(time_point now) {
  return now < looked_at_ + fresh_look ? store_.commit() : look_at_store();
}

std::error_code block_receiver::look_at_store() {
  looked_at_ = steady_clock::now();
  const auto error = store_.look();
  tell_what_was_lost();
  return error;
}

/// An event of a lost block is not left out when it comes again.
void block_receiver::tell_what_was_lost() {
  for (const std::string& text : store_.take_news())
    if (report_) report_(text);
  std::uint64_t blocks = 0;
  for (const auto& [session, lost] : store_.lost()) blocks += lost.blocks;
  if (blocks == std::exchange(lost_blocks_, blocks)) return;
  recent_ = recent_events(remembered_events, remembered_sessions);
  recall(recent_, store_.folder());
}

/// Blocks count as stored when they are committed: if that fails, they are taken back, and the
/// daemons that wait for an acknowledgement are told why it does not come.
void block_receiver::commit(time_point now) {
  const bool look = std::exchange(answers_from_older_files_, false);
  if (const auto error = look ? commit_and_look(now) : store_.commit()) {
    forget_what_is_not_stored();
    store_failed(error, now);
    tell_what_was_lost();
    for (auto& [session, from] : peers_) from.refuse = from.refuse || from.acknowledge;
  }
  uncommitted_.clear();
  if (std::exchange(recovering_, false)) {
    store_error_.clear();
    report_once("the store can be written again");
  }
  const auto& all = store_.committed();
  counters_.stored_blocks.add(all.blocks - before_.blocks - counters_.stored_blocks);
  counters_.stored_events.add(all.events - before_.events - counters_.stored_events);
}

void block_receiver::store_failed(const std::error_code& error, time_point now) {
  counters_.store_errors.add();
  store_error_ = error;
  recovering_ = false;
  retry_at_ = now + retry_time;
  report_once("the store cannot be written: " + error.message());
}

void block_receiver::answer_all() {
  for (auto& [session, to] : peers_) {
    if (std::exchange(to.welcome, false)) {
      send(to.address, link_message::welcome, session, store_.last_stored(session, to.first));
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

void block_receiver::send(const std::string& address, link_message type, std::uint64_t session,
                          std::uint64_t sequence, std::string_view body) {
  const auto head = make_link_header(type, session, sequence, settings_.credit);
  // A ROUTER drops messages to a connection that is gone; the daemon behind it asks again.
  auto& socket = link_->socket;
  (void)socket.send(zmq::buffer(address), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
  (void)socket.send(zmq::buffer(&head, sizeof head),
                    zmq::send_flags::sndmore | zmq::send_flags::dontwait);
  (void)socket.send(zmq::buffer(body), zmq::send_flags::dontwait);
}

void block_receiver::report_once(std::string text) {
  if (text == last_report_) return;
  last_report_ = std::move(text);
  if (report_) report_(last_report_);
}

} // namespace l3
