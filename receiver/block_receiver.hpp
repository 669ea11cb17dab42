// SPDX-License-Identifier: Apache-2.0
// The receiving end of the output link (docs/formats.md, section 8): accepts blocks of any number
// of daemons, checks and stores them, and acknowledges the stored ones. All waiting blocks are
// stored in one step and acknowledged once. An event that another session of the run has stored
// lately is left out of its block and counted: see recent_events. A session says hello over each of
// its connections. Other messages are counted and dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "receiver/early_blocks.hpp"
#include "receiver/event_publisher.hpp"
#include "receiver/link_peers.hpp"
#include "receiver/recent_events.hpp"
#include "transport/accounting/counters.hpp"
#include "transport/accounting/occasional.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/time.hpp"
#include "transport/format/units.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_writer.hpp"

namespace l3 {

struct receive_settings {
  std::string bind = "tcp://127.0.0.1:42200";
  std::uint32_t credit = 64; ///< blocks in flight per daemon; fewer if they are long
  byte_size largest_block = largest_sent_payload; ///< a peer that sends more is disconnected
  byte_size waiting = mebibytes(1024);            ///< memory of messages that wait to be stored
  std::string secret_key; ///< file with its own key; empty: a link without keys
  std::string allow;      ///< file with the public keys of those that may send
  std::string publish;    ///< address at which samples of stored events are published; empty: none
  std::uint32_t publish_rate = 10; ///< samples of each line in a second
  /// The receiver ends if the store refuses every block for so long, but not for lack of room.
  std::chrono::nanoseconds longest_failure = std::chrono::minutes(1);
};

/// Counts connection attempts at the output link.
struct connection_counters {
  counter accepted; ///< by the operating system
  counter let_in;
  counter unknown_key; ///< with a key that is not in the allow-list
  counter mechanism;   ///< without a required key, or with an unexpected one

  /// Connections refused for other reasons: garbage, silence, a greeting for another key, or a
  /// daemon that checked before a run whether a receiver listens. Handshakes still in progress
  /// (three seconds at most) are included.
  [[nodiscard]] std::uint64_t handshake() const {
    const std::uint64_t others = let_in + unknown_key + mechanism;
    return accepted > others ? accepted - others : 0;
  }
};

/// The thread that calls step() writes these.
struct receive_counters {
  counter messages;
  counter blocks;        ///< stored or not
  counter bytes;         ///< of these blocks
  counter stored_blocks; ///< and committed
  counter stored_events;
  counter repeated_events; ///< left out of their blocks because another session had stored them
  counter duplicates;      ///< blocks that were already stored
  counter gaps;            ///< blocks with a missing predecessor
  counter early;           ///< blocks kept until their predecessors came
  counter strangers;       ///< blocks of a session without a hello on their connection
  counter garbage;         ///< messages that do not belong to the link
  counter store_errors;
  counter slow_milliseconds;            ///< of writes that took a second or longer
  counter goodbyes;                     ///< daemons that ended with everything stored
  reason_counters<block_fault> damaged; ///< invalid blocks
  connection_counters connections;
};

class block_receiver {
public:
  using report_function = std::function<void(std::string_view)>;
  using block_function = std::function<void(std::span<const std::byte> block, time_point now)>;

  /// A sender keeps what is not acknowledged, which is never more than earlier daemons had in
  /// flight. This is about 60 MB of remembered events; each of 128 sessions can have 2048 events at
  /// both ends. A restarted node has up to four sessions: two new ones, and two that the previous
  /// process left on disk.
  static constexpr std::size_t remembered_events = std::size_t{1} << 19;
  static constexpr std::size_t remembered_sessions = 128;

  /// Throws std::runtime_error if the address cannot be bound or a key file is invalid. The store
  /// must outlive the receiver.
  block_receiver(receive_settings settings, store_writer& store, report_function report);
  ~block_receiver();
  block_receiver(const block_receiver&) = delete;
  block_receiver& operator=(const block_receiver&) = delete;

  /// Waits for messages, reads all of them, stores and acknowledges. Returns false if there were
  /// none. Throws std::runtime_error if the store's folder or files were removed, or if the disk
  /// has refused every block for `longest_failure`.
  bool step(std::chrono::milliseconds wait);

  /// step() calls it with each block that it has written; it must be quick.
  void show_blocks_to(block_function show) { show_ = std::move(show); }

  /// Accepts no more peers and completes the count of refused ones. Call it after the last step.
  void close();

  [[nodiscard]] std::string endpoint() const; ///< with the bound port
  /// Upper limit of the program's memory if peers respect their credit.
  [[nodiscard]] static byte_size memory_plan(const receive_settings& settings);
  [[nodiscard]] const receive_counters& counters() const { return counters_; }
  // For the thread that calls step().

  /// Publishes samples of stored events; null: it does not.
  [[nodiscard]] const event_publisher* publisher() const { return publisher_.get(); }
  /// The sessions that said hello.
  [[nodiscard]] const link_peers& peers() const { return peers_; }
  /// Why nothing can be stored now; no error if storing works.
  [[nodiscard]] std::error_code store_error() const { return store_error_; }

private:
  struct link;
  [[nodiscard]] bool take_message(time_point now);
  struct hello_origin {
    std::string address;  ///< ZeroMQ's name of the connection
    std::string in_words; ///< key or address of the peer
    std::uint32_t run = 0;
    std::uint32_t node = 0;
    int socket = -1;
  };
  void take_hello(const link_header& header, const hello_origin& origin, time_point now);
  void take_blocks(link_peer& from, const link_header& header, zmq::message_t& body,
                   time_point now);
  void take_block(link_peer& from, const link_header& header, zmq::message_t& message,
                  time_point now);
  [[nodiscard]] bool identify_events(std::span<const std::byte> body, const block_header& block,
                                     time_point now);
  [[nodiscard]] std::optional<std::pair<event_key, event_key>> first_and_last() const;
  [[nodiscard]] std::span<const std::byte> without_repeats(std::span<const std::byte> body,
                                                           block_header& block);
  void remember_events(const block_header& block);
  void forget_what_is_not_stored();
  void commit(time_point now);
  void store_failed(const std::error_code& error, time_point now);
  void complete_files(time_point now);
  void hear_bytes(time_point now);
  void answer_all();
  [[nodiscard]] std::uint32_t credit_of(std::uint64_t session) const;
  void send(const std::string& address, link_message type, std::uint64_t session,
            std::uint64_t sequence, std::string_view body = {});
  void report(occasional& kind, time_point now, const std::string& text);

  const std::uint32_t mark_; ///< identifies this receiver to daemons
  receive_settings settings_;
  store_writer& store_;
  store_tally before_; ///< contents of the store when the receiver started
  report_function report_;
  block_function show_;
  std::unique_ptr<link> link_;
  std::unique_ptr<event_publisher> publisher_;
  link_peers peers_;
  early_blocks early_;
  recent_events recent_{remembered_events, remembered_sessions};
  struct new_block {
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    std::size_t events = 0;
  };
  std::vector<new_block> uncommitted_; ///< their events are in recent_ and in uncommitted_events_
  std::vector<recent_events::identity> uncommitted_events_;
  std::vector<recent_events::identity> events_; ///< of the current block, then without repeats
  std::vector<std::byte> shortened_;            ///< a block without its repeats
  std::error_code store_error_;                 ///< set: the store could not be written
  time_point completed_at_{};                   ///< last check for files to complete
  std::optional<time_point> failing_since_;     ///< for other reasons than room; empty: no failure
  time_point retry_at_;
  bool recovering_ = false; ///< a block was written after an error and is not yet committed
  receive_counters counters_;
  occasional wrong_counts_told_{std::chrono::seconds(10)};
};

} // namespace l3
