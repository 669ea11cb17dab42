// SPDX-License-Identifier: Apache-2.0
// One connection of a record stream: two coroutines on the receiver's thread. One reads records,
// the other writes acknowledgements and, at the end, a refusal. No read into the memory of a batch
// is ever pending: the coroutine waits until the socket has data, and then asks where to read it
// to.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "transport/building/event_builder.hpp"

namespace l3 {

/// Decides which records of a connection may be acknowledged. A record is safe when its batch is
/// safe, or for a record in no batch, when the batch before it is.
class acknowledgements {
public:
  /// The records of a connection up to one of them.
  struct record_count {
    std::uint64_t sequence = 0; ///< of the last one
    std::uint64_t known = 0;    ///< repeated events among them
  };

  /// Adds a record with its sequence number and the batch it waits for; both increase.
  void add(std::uint64_t sequence, std::uint64_t batch_serial, bool known = false) {
    if (known) ++known_;
    if (waiting_.empty() || waiting_.back().batch_serial < batch_serial)
      waiting_.push_back({{}, batch_serial});
    waiting_.back().upto = {sequence, known_};
  }

  void add_as_safe_as_the_last(std::uint64_t sequence) {
    (waiting_.empty() ? safe_ : waiting_.back().upto).sequence = sequence;
  }

  /// Call when all batches up to this one are safe. Returns the records that are safe.
  record_count safe_up_to(std::uint64_t batch_serial) {
    while (!waiting_.empty() && waiting_.front().batch_serial <= batch_serial) {
      safe_ = waiting_.front().upto;
      waiting_.pop_front();
    }
    return safe_;
  }

  /// The last result of safe_up_to(), and later records that are as safe.
  [[nodiscard]] record_count safe() const { return safe_; }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

private:
  struct entry {
    record_count upto;
    std::uint64_t batch_serial = 0;
  };
  std::deque<entry> waiting_; // one per batch
  std::uint64_t known_ = 0;
  record_count safe_;
};

class tcp_connection : public std::enable_shared_from_this<tcp_connection> {
public:
  using safe_batches = std::function<std::uint64_t()>;

  tcp_connection(boost::asio::ip::tcp::socket socket, std::uint32_t run, event_builder& builder,
                 input_counters& input, const safe_batches& safe);

  /// Starts both coroutines, which keep the connection alive. Calls `ended` when reading has ended.
  void start(std::function<void()> ended);
  /// Sends the reason to the peer and closes the connection.
  void refuse(std::string why);
  void stop_reading();
  /// Sends pending acknowledgements, then closes.
  void finish();
  void close();

  [[nodiscard]] bool closed() const { return !socket_.is_open(); }

private:
  /// Why a stream must end.
  struct stream_error {
    refused reason;
    std::string text;
  };
  using problem = std::optional<stream_error>;
  template <class T>
  using task = boost::asio::awaitable<T>;

  task<void> read_records();
  task<problem> read_record();
  task<problem> read_event(const record_header& header);
  task<problem> read_bytes(std::byte* to, std::size_t bytes, bool may_end);
  task<problem> store_event(const record_header& header);
  [[nodiscard]] stream_error conflict_at(event_key event) const;
  problem take_hello(const record_header& header, std::span<const std::byte> body);
  problem take_other(const record_header& header, std::span<const std::byte> body);
  task<void> write_records();
  [[nodiscard]] bool has_to_write() const;
  task<void> send(record_type type, std::span<const std::byte> body);
  task<void> send_refusal();
  task<void> pause(std::chrono::nanoseconds time);
  task<void> readable();
  [[nodiscard]] std::ptrdiff_t receive(std::byte* to, std::size_t bytes);

  boost::asio::ip::tcp::socket socket_;
  std::uint32_t run_;
  event_builder& builder_;
  input_counters& input_;
  const safe_batches& safe_;
  std::unique_ptr<stream_landing> landing_; // set after a valid hello
  acknowledgements waiting_;
  std::uint64_t sequence_ = 0; // of the last record read, without the hello
  std::uint64_t hello_ = 0;    // sequence number of the hello; 0: not read yet
  bool reading_ = true;
  bool ended_by_peer_ = false;
  bool finishing_ = false;
  std::optional<std::string> refusal_;
  time_point refuse_by_ = time_point::min(); // until then the refusal waits for acknowledgements
  std::uint64_t acknowledged_ = 0;           // the highest acknowledged sequence number
  boost::asio::cancellation_signal cancel_reading_;
  boost::asio::steady_timer to_write_; // cancelled when there is something to write
};

} // namespace l3
