// SPDX-License-Identifier: Apache-2.0
// The blocks of a lane that are in flight, as known to its forwarder: which block goes next, how
// many may be in flight, whether the receiver welcomed the lane, and when to retry. It handles
// every message of the receiver (docs/protocol.md). No message releases a block that was not sent.
// It uses no socket and no clock; the forwarder does.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/accounting/occasional.hpp"
#include "transport/format/block.hpp"
#include "transport/outbox/block_source.hpp"

namespace l3 {

/// For the forwarder's thread, unless stated otherwise.
class send_window {
public:
  using report_function = std::function<void(std::string_view)>;

  /// The source must outlive it. `receiver` is its address, for reports. `ways`: number of
  /// connections of the lane.
  send_window(block_source& from, std::string receiver, report_function report,
              std::size_t ways = 1);
  send_window(const send_window&) = delete;
  send_window& operator=(const send_window&) = delete;

  // Events.

  /// The source has a new lane without blocks in flight.
  void begin_lane();
  /// The connection was established, broken or refused: the receiver has to welcome the lane again.
  void connection_changed(bool broke, time_point now);
  /// One of several connections was established or broken while others are welcome: its blocks that
  /// have not arrived are sent again.
  void lost(std::size_t way);
  /// A message came over it, so it is alive.
  void heard(std::size_t way) { ways_[way].is_suspect = false; }
  /// A block is on its way, or the forwarder itself was stopped: no silence of the receiver.
  void bytes_flow(time_point now) {
    answered_at_ = now;
    progress_at_ = std::max(progress_at_, now);
  }
  /// Another connection was welcomed.
  void joined(const link_header& header, std::string_view body, time_point now);
  /// With several connections, one without answers while the others get some is not used until it
  /// is heard again; its blocks are sent again.
  void leave_silent_ways(time_point now);
  /// Handles a message. Ignores messages of another session.
  void take(const link_header& header, std::string_view body, time_point now);
  /// The next block was sent.
  void sent(const held_block& block, time_point now, std::size_t way = 0);
  /// Without progress for this time, the first block that is not stored and those after it are
  /// sent again. This is not done while the block's memory is still held, because then it has not
  /// been sent, and a second copy would only queue behind it. Each further copy waits twice as
  /// long, up to a limit, and until the receiver has answered since the previous copy; without an
  /// answer it has not read that one.
  void go_back_after(std::chrono::nanoseconds patience, time_point now);
  /// When go_back_after() is due.
  [[nodiscard]] time_point go_back_at(std::chrono::nanoseconds patience) const {
    return progress_at_ + patience * (1U << std::min(copies_, most_doublings));
  }
  /// Ends the lane. Returns true if the receiver had welcomed it.
  bool leave() { return welcomed_.exchange(false); }
  /// Reports something to a person, not twice in a row and at a limited rate.
  void report_once(std::string text, time_point now);

  // State.

  [[nodiscard]] time_point not_before() const { return not_before_; }
  /// The block to send next: the first one to repeat, or the one after those in flight, at most the
  /// one after the last sealed block.
  [[nodiscard]] std::uint64_t next() const;
  /// Whether that block is sealed and within the receiver's credit.
  [[nodiscard]] bool may_send_next() const {
    return again_ > 0 || (under_way_.size() < credit_ && behind() <= source_.lane().sealed);
  }
  /// The least busy of these connections, for the next block; nothing if all are busy. A single
  /// connection always accepts more.
  [[nodiscard]] std::optional<std::size_t> choose_way(std::span<const bool> welcome) const;
  [[nodiscard]] bool is_suspect(std::size_t way) const { return ways_[way].is_suspect; }
  [[nodiscard]] bool has_blocks_under_way() const { return !under_way_.empty(); }
  // Any thread.

  [[nodiscard]] bool is_welcome() const { return welcomed_.load(std::memory_order_relaxed); }
  /// Whether the receiver gave a reason for not storing, or did not take a repeatedly sent block,
  /// and has stored nothing since.
  [[nodiscard]] bool is_refused() const { return refused_.load(std::memory_order_relaxed); }
  /// Whether the receiver claimed to have blocks that were never sent, and made no possible claim
  /// ten seconds or more after that.
  [[nodiscard]] bool is_wrong() const { return wrong_.load(std::memory_order_relaxed); }
  /// When the receiver last sent something to this lane, or bytes of a block flowed.
  [[nodiscard]] time_point answered_at() const { return answered_at_; }
  [[nodiscard]] const forward_counters& counters() const { return counters_; }

private:
  static constexpr unsigned most_doublings = 4;

  void welcomed(const link_header& header, time_point now);
  void acknowledged(const link_header& header, time_point now);
  void refused(std::string_view text, time_point now);
  [[nodiscard]] bool is_impossible(std::uint64_t stored, time_point now);
  void take_credit(std::uint32_t blocks);
  void take_early(std::string_view body, time_point now);

  struct sent_block {
    std::weak_ptr<const void> hold;
    std::size_t way = 0;
    time_point at;
    bool came = false;  ///< the receiver has it and waits for an earlier one
    bool again = false; ///< it must be sent again
  };
  struct way_state {
    time_point brought_at;            ///< when a block sent over it was last reported as arrived
    std::chrono::nanoseconds usual{}; ///< recent time from sending a block to its answer
    bool is_suspect = false;
  };
  [[nodiscard]] std::uint64_t behind() const {
    return source_.lane().stored + under_way_.size() + 1;
  }
  void came(sent_block& block, time_point now);
  void forget_under_way();

  block_source& source_;
  const std::string receiver_;
  report_function report_;
  forward_counters counters_;

  std::uint64_t welcomes_ = 0;       ///< in this lane
  std::deque<sent_block> under_way_; ///< the blocks after the stored ones
  std::size_t again_ = 0;            ///< number of these to send again
  std::vector<way_state> ways_;
  std::size_t last_way_ = 0;       ///< that sent the last block
  std::uint64_t highest_sent_ = 0; ///< over all connections
  std::uint64_t credit_ = 0;       ///< blocks that may be in flight
  time_point progress_at_;         ///< last acknowledgement with news, or first block in flight
  unsigned copies_ = 0;            ///< copies sent since then
  time_point copied_at_;           ///< when the first block in flight was last sent
  time_point read_at_; ///< last message that shows that the receiver reads recent blocks
  time_point not_before_;
  time_point hello_wanted_at_; ///< when the receiver last asked for a hello
  std::string last_report_;
  line_budget lines_{20, std::chrono::seconds(10)};

  std::atomic<bool> welcomed_{false};
  std::atomic<bool> refused_{false};
  std::atomic<bool> wrong_{false};
  std::atomic<time_point> answered_at_{};
};

} // namespace l3
