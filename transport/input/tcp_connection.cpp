// SPDX-License-Identifier: Apache-2.0
#include "transport/input/tcp_connection.hpp"

#include <new>

#include <sys/socket.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
using asio::use_awaitable;
using boost::system::error_code;

constexpr auto acknowledge_period = std::chrono::milliseconds(1);
constexpr auto frame_wait = std::chrono::milliseconds(1);
/// How long a refusal waits for the acknowledgements of the valid records before it: some ages of
/// batch and block. Without a receiver they may not come for hours.
constexpr auto acknowledge_time_limit = std::chrono::seconds(2);
constexpr auto goodbye_time_limit = std::chrono::milliseconds(500);

constexpr int keepalive_seconds = 5;
constexpr int keepalive_probes = 3;
/// Keepalive probes only an idle connection. By default the kernel resends unconfirmed data for a
/// quarter of an hour; this limit ends that after the time that keepalive takes.
constexpr int unconfirmed_milliseconds = 1000 * keepalive_seconds * (1 + keepalive_probes);

std::string text_of(const readout& r) {
  return std::to_string(r.size()) + " crates with " + std::to_string(r.boards()) + " boards";
}

} // namespace

tcp_connection::tcp_connection(asio::ip::tcp::socket socket, std::uint32_t run,
                               event_builder& builder, input_counters& input,
                               const safe_batches& safe)
    : socket_(std::move(socket)), run_(run), builder_(builder), input_(input), safe_(safe),
      to_write_(socket_.get_executor()) {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  // A vanished peer must not keep its place forever; a silent one may.
  using asio::detail::socket_option::integer;
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  socket_.set_option(integer<IPPROTO_TCP, TCP_KEEPIDLE>(keepalive_seconds), ignored);
  socket_.set_option(integer<IPPROTO_TCP, TCP_KEEPINTVL>(keepalive_seconds), ignored);
  socket_.set_option(integer<IPPROTO_TCP, TCP_KEEPCNT>(keepalive_probes), ignored);
  socket_.set_option(integer<IPPROTO_TCP, TCP_USER_TIMEOUT>(unconfirmed_milliseconds), ignored);
}

void tcp_connection::start(std::function<void()> ended) {
  const auto self = shared_from_this();
  auto done = [self, ended = std::move(ended)](const std::exception_ptr&) {
    if (self->landing_) self->builder_.detach(*self->landing_);
    self->landing_.reset();
    self->reading_ = false;
    self->to_write_.cancel();
    ended();
  };
  asio::co_spawn(socket_.get_executor(), read_records(),
                 asio::bind_cancellation_slot(cancel_reading_.slot(), std::move(done)));
  asio::co_spawn(socket_.get_executor(), write_records(),
                 [self](const std::exception_ptr&) { self->close(); });
}

void tcp_connection::refuse(std::string why) {
  refusal_ = std::move(why);
  const auto self = shared_from_this();
  asio::co_spawn(socket_.get_executor(), write_records(),
                 [self](const std::exception_ptr&) { self->close(); });
}

void tcp_connection::stop_reading() { cancel_reading_.emit(asio::cancellation_type::terminal); }

void tcp_connection::finish() {
  finishing_ = true;
  to_write_.cancel();
}

void tcp_connection::close() {
  error_code ignored;
  socket_.close(ignored);
  to_write_.cancel();
}

asio::awaitable<void> tcp_connection::read_records() {
  problem wrong;
  while (!wrong && !ended_by_peer_) {
    wrong = co_await read_record();
    co_await asio::post(socket_.get_executor(), use_awaitable); // lets other connections run
  }
  if (!wrong) co_return;
  input_.refused.add(wrong->reason);
  refuse_by_ = steady_clock::now() + acknowledge_time_limit;
  refusal_ = std::move(wrong->text);
}

asio::awaitable<tcp_connection::problem> tcp_connection::read_record() {
  record_header header;
  auto wrong = co_await read_bytes(reinterpret_cast<std::byte*>(&header), sizeof header, true);
  if (wrong || ended_by_peer_) co_return wrong;
  if (const auto reason = check_header(header))
    co_return stream_error{*reason, "a record header is damaged"};
  const bool is_hello = header.type == record_type::hello;
  if (is_hello != (hello_ == 0))
    co_return stream_error{refused::stream_content, "a stream begins with one hello"};
  if (header.sequence <= sequence_ || header.sequence == hello_)
    co_return stream_error{refused::stream_sequence, "sequence numbers must increase"};

  if (header.type == record_type::event) {
    wrong = co_await read_event(header);
  } else if (header.type > record_type::hello) {
    wrong = stream_error{refused::stream_content, "only the daemon sends records of this type"};
  } else {
    std::vector<std::byte> body(header.body_bytes); // at most a kilobyte, by check_header()
    wrong = co_await read_bytes(body.data(), body.size(), false);
    if (!wrong && check_body(header, body))
      wrong = stream_error{refused::stream_checksum, "a record is damaged"};
    if (!wrong) wrong = is_hello ? take_hello(header, body) : take_other(header, body);
  }
  if (!wrong) {
    (is_hello ? hello_ : sequence_) = header.sequence;
    // The hello has a new number, but repeated records keep theirs: the hello is acknowledged after
    // them.
    if (sequence_ + 1 == hello_) waiting_.add_as_safe_as_the_last(hello_);
    input_.datagrams.add();
    to_write_.cancel();
  }
  co_return wrong;
}

tcp_connection::problem tcp_connection::take_hello(const record_header& header,
                                                   std::span<const std::byte> body) {
  hello h;
  if (const auto reason = parse_hello(body, h))
    return stream_error{*reason, "the hello contradicts itself"};
  if (h.run != run_) {
    return stream_error{refused::stream_content, "the stream has run " + std::to_string(h.run) +
                                                     ", this daemon accepts run " +
                                                     std::to_string(run_) + " (run.number)"};
  }
  const auto& configured = builder_.settings().crates;
  if (h.crates != configured) {
    return stream_error{refused::stream_content, "the stream's readout (" + text_of(h.crates) +
                                                     ") is not the configured one (" +
                                                     text_of(configured) + ")"};
  }
  try {
    landing_ = std::make_unique<stream_landing>(max_event_body(configured));
  } catch (const std::bad_alloc&) {
    return stream_error{refused::connection_limit,
                        "this daemon has no memory left for another sender"};
  }
  builder_.attach(*landing_, header.sequence);
  return std::nullopt;
}

tcp_connection::problem tcp_connection::take_other(const record_header& header,
                                                   std::span<const std::byte> body) {
  const auto now = steady_clock::now();
  const auto taken = header.type == record_type::begin_of_spill
                         ? builder_.begin_of_spill(*landing_, header.spill, now)
                         : builder_.end_of_spill(*landing_, header.spill, header.sequence,
                                                 load<end_of_spill_body>(body.data()).events, now);
  waiting_.add(header.sequence, taken.batch_serial);
  return std::nullopt;
}

asio::awaitable<tcp_connection::problem> tcp_connection::read_event(const record_header& header) {
  if (header.body_bytes > max_event_body(builder_.settings().crates))
    co_return stream_error{refused::stream_length, "an event is longer than the readout allows"};
  while (!builder_.reserve(*landing_, header.body_bytes, steady_clock::now()))
    co_await pause(frame_wait);

  std::uint32_t crc = 0;
  for (std::size_t filled = 0; filled < header.body_bytes;) {
    std::byte* body = builder_.enter(*landing_);
    const auto n = receive(body + filled, header.body_bytes - filled);
    if (n > 0) {
      crc = crc32c({body + filled, static_cast<std::size_t>(n)}, crc);
      filled += static_cast<std::size_t>(n);
    }
    builder_.leave(*landing_, filled);
    if (n == 0) co_return stream_error{refused::stream_length, "the stream ends within a record"};
    if (n < 0) co_await readable();
  }
  if (crc != header.body_crc)
    co_return stream_error{refused::stream_checksum, "a record is damaged"};
  co_return co_await store_event(header);
}

asio::awaitable<tcp_connection::problem> tcp_connection::store_event(const record_header& header) {
  using outcome = event_builder::stream_outcome;
  auto taken = builder_.take_event(*landing_, header.spill, steady_clock::now());
  while (taken.outcome == outcome::wait) {
    co_await pause(frame_wait);
    taken = builder_.take_event(*landing_, header.spill, steady_clock::now());
  }
  if (taken.outcome == outcome::refused) {
    if (taken.reason == refused::stream_conflict) co_return conflict_at(taken.event);
    co_return stream_error{taken.reason, "an event contradicts itself or the readout"};
  }
  waiting_.add(header.sequence, taken.batch_serial, taken.known);
  co_return std::nullopt;
}

/// The records before it are valid and acknowledged, so that the sender knows what was taken.
tcp_connection::stream_error tcp_connection::conflict_at(event_key event) const {
  return {
      refused::stream_conflict,
      "event " + std::to_string(event.number) + " of spill " + std::to_string(event.spill) +
          " was received before with different bytes; it and all later records are refused: within "
          "run " +
          std::to_string(run_) +
          " each event needs its own number; send other data under another run number "
          "(run.number)"};
}

asio::awaitable<tcp_connection::problem>
tcp_connection::read_bytes(std::byte* to, std::size_t bytes, bool may_end) {
  for (std::size_t filled = 0; filled < bytes;) {
    const auto n = receive(to + filled, bytes - filled);
    if (n > 0) filled += static_cast<std::size_t>(n);
    if (n < 0) co_await readable();
    if (n != 0) continue;
    ended_by_peer_ = true;
    if (may_end && filled == 0) break;
    co_return stream_error{refused::stream_length, "the stream ends within a record"};
  }
  co_return std::nullopt;
}

/// Returns the number of bytes; 0 if the peer has ended the stream or is gone; negative if no data
/// are available.
std::ptrdiff_t tcp_connection::receive(std::byte* to, std::size_t bytes) {
  const auto n = ::recv(socket_.native_handle(), to, bytes, MSG_DONTWAIT);
  if (n > 0) input_.bytes.add(static_cast<std::uint64_t>(n));
  if (n >= 0) return n;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? -1 : 0;
}

asio::awaitable<void> tcp_connection::readable() {
  co_await socket_.async_wait(asio::ip::tcp::socket::wait_read, use_awaitable);
}

asio::awaitable<void> tcp_connection::pause(std::chrono::nanoseconds time) {
  asio::steady_timer timer(socket_.get_executor(), time);
  co_await timer.async_wait(use_awaitable);
}

/// Runs until the connection closes, or the stream has ended and is completely acknowledged.
asio::awaitable<void> tcp_connection::write_records() {
  while (socket_.is_open()) {
    if (!has_to_write()) {
      error_code cancelled;
      to_write_.expires_at(time_point::max());
      co_await to_write_.async_wait(asio::redirect_error(use_awaitable, cancelled));
    }
    co_await pause(acknowledge_period);
    const bool last = finishing_ || (ended_by_peer_ && !reading_ && waiting_.empty());
    const auto safe = waiting_.safe_up_to(safe_());
    const acknowledgement_body body{safe.sequence, safe.known};
    if (safe.sequence > acknowledged_)
      co_await send(record_type::acknowledgement, std::as_bytes(std::span(&body, 1)));
    acknowledged_ = safe.sequence;
    const bool may_refuse = waiting_.empty() || last || steady_clock::now() >= refuse_by_;
    if (refusal_ && may_refuse) {
      co_await send_refusal();
      co_return;
    }
    if (last) co_return;
  }
}

bool tcp_connection::has_to_write() const {
  return !waiting_.empty() || waiting_.safe().sequence != acknowledged_ || refusal_ || !reading_ ||
         finishing_ || !socket_.is_open();
}

asio::awaitable<void> tcp_connection::send(record_type type, std::span<const std::byte> body) {
  const auto header =
      sealed_header(type, 0, 0, static_cast<std::uint32_t>(body.size()), crc32c(body));
  const std::array<asio::const_buffer, 2> parts{asio::buffer(&header, sizeof header),
                                                asio::buffer(body.data(), body.size())};
  co_await asio::async_write(socket_, parts, use_awaitable);
}

/// Sends the text and gives the peer time to read it: closing with unread data would reset the
/// connection and lose the text.
asio::awaitable<void> tcp_connection::send_refusal() {
  asio::steady_timer limit(socket_.get_executor(), goodbye_time_limit);
  limit.async_wait([weak = weak_from_this()](const error_code& cancelled) {
    if (const auto self = weak.lock(); self && !cancelled) self->close();
  });
  co_await send(record_type::refusal, std::as_bytes(std::span(*refusal_)));
  error_code failed;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, failed);
  std::array<std::byte, 4096> unwanted;
  while (!failed)
    co_await socket_.async_read_some(asio::buffer(unwanted),
                                     asio::redirect_error(use_awaitable, failed));
}

} // namespace l3
