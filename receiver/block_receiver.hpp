// SPDX-License-Identifier: Apache-2.0
// The far end of the output link (docs/formats.md, section 8): takes blocks of any number of
// daemons, checks them, stores them, and acknowledges what is stored. All that was waiting is
// stored in one go and acknowledged once. An event that another session of the run has stored
// lately is left out of its block, and counted there: see recent_events. A session
// says hello over each of its connections. Whatever is not a message of the link is counted and
// dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "receiver/early_blocks.hpp"
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
  std::uint32_t credit = 64; ///< blocks that a daemon may have under way; fewer if they are long
  byte_size largest_block = largest_sent_payload; ///< a peer that sends more is cut off
  byte_size waiting = mebibytes(1024);            ///< memory of messages that wait to be stored
  std::string secret_key; ///< file with its own key; empty: a link without keys
  std::string allow;      ///< file with the public keys of those that may send
};

/// Who knocked at the output link.
struct connection_counters {
  counter accepted; ///< by the operating system
  counter let_in;
  counter unknown_key; ///< with a key that is not in the allow-list
  counter mechanism;   ///< without a key where there must be one, or the other way round

  /// Were not let in for any other reason: garbage, silence, a greeting sealed for another key, or
  /// a daemon that asked before a run whether a receiver listens. Those that have not come so far
  /// yet count as such, for the three seconds that they have.
  [[nodiscard]] std::uint64_t handshake() const {
    const std::uint64_t others = let_in + unknown_key + mechanism;
    return accepted > others ? accepted - others : 0;
  }
};

/// Written by the thread that calls step().
struct receive_counters {
  counter messages;
  counter blocks;        ///< whether stored or not
  counter bytes;         ///< of these
  counter stored_blocks; ///< and committed
  counter stored_events;
  counter repeated_events; ///< left out of their blocks: another session has stored them
  counter duplicates;      ///< blocks that were stored already
  counter gaps;            ///< blocks whose predecessors were missing
  counter early;           ///< blocks that were kept until their predecessors came
  counter strangers;       ///< blocks of a session that has not said hello on their connection
  counter garbage;         ///< messages that are none of ours
  counter store_errors;
  counter goodbyes;                     ///< daemons that ended with everything stored; not nothing
  reason_counters<block_fault> damaged; ///< blocks that were none
  connection_counters connections;
};

class block_receiver {
public:
  using report_function = std::function<void(std::string_view)>;

  /// A sender keeps what is not acknowledged, which is never more than what the daemons before it
  /// had under way: some 60 MB for what is remembered, of each of 128 sessions still 2048 events at
  /// their beginning and at their end. A node that was started again has up to four sessions: two,
  /// and what the one before left on disk.
  static constexpr std::size_t remembered_events = std::size_t{1} << 19;
  static constexpr std::size_t remembered_sessions = 128;

  /// Throws std::runtime_error if the address cannot be bound or a key file is of no use. The store
  /// must outlive the receiver.
  block_receiver(receive_settings settings, store_writer& store, report_function report);
  ~block_receiver();
  block_receiver(const block_receiver&) = delete;
  block_receiver& operator=(const block_receiver&) = delete;

  /// Waits for messages, takes those that are there, stores, acknowledges. False: there was none to
  /// take. Throws std::runtime_error if the store's folder or files were removed.
  bool step(std::chrono::milliseconds wait);

  /// Lets no peer in any more, and has counted which ones were refused. After the last step.
  void close();

  [[nodiscard]] std::string endpoint() const; ///< with the port that was bound
  /// The most memory that the program takes where peers keep to their credit.
  [[nodiscard]] static byte_size memory_plan(const receive_settings& settings);
  [[nodiscard]] const receive_counters& counters() const { return counters_; }
  // For the thread that calls step().

  [[nodiscard]] std::size_t open_sessions(time_point now) const;
  /// Who said hello, by session.
  [[nodiscard]] const link_peers& peers() const { return peers_; }
  /// Why nothing is stored now; no error: it is.
  [[nodiscard]] std::error_code store_error() const { return store_error_; }

private:
  struct link;
  [[nodiscard]] bool take_message(time_point now);
  struct hello_origin {
    std::string address;  ///< as ZeroMQ knows the connection
    std::string in_words; ///< key or address of the peer
    std::uint32_t run = 0;
    std::uint32_t node = 0;
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
  void answer_all();
  [[nodiscard]] std::uint32_t credit_of(std::uint64_t session) const;
  void send(const std::string& address, link_message type, std::uint64_t session,
            std::uint64_t sequence, std::string_view body = {});
  void report_once(std::string text);
  void report(occasional& kind, time_point now, const std::string& text);

  const std::uint32_t mark_; ///< of this receiver, for daemons
  receive_settings settings_;
  store_writer& store_;
  store_tally before_; ///< what the store had taken when the receiver began
  report_function report_;
  std::unique_ptr<link> link_;
  link_peers peers_;
  early_blocks early_;
  recent_events recent_{remembered_events, remembered_sessions};
  struct new_block {
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    std::size_t events = 0;
  };
  std::vector<new_block> uncommitted_; ///< their events are in recent_, and here:
  std::vector<recent_events::identity> uncommitted_events_;
  std::vector<recent_events::identity> events_; ///< of the block at hand, then without its repeats
  std::vector<std::byte> shortened_;            ///< a block without its repeats
  std::error_code store_error_;                 ///< set: the store could not be written
  time_point completed_at_{};                   ///< files that have come to their end
  time_point retry_at_;
  bool recovering_ = false; ///< a block was written since, and is not yet committed
  receive_counters counters_;
  std::string last_report_;
  occasional wrong_counts_told_{std::chrono::seconds(10)};
};

} // namespace l3
