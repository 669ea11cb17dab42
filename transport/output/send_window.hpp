// SPDX-License-Identifier: Apache-2.0
// The blocks of a lane that are under way, as its forwarder knows them: which goes next, how many
// may be under way, whether the receiver welcomed the lane and when to try again. Every message of
// the receiver is taken here (docs/protocol.md). A message never lets go a block that was not sent.
// There is no socket in it and no clock: the forwarder has these.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "transport/accounting/counters.hpp"
#include "transport/accounting/occasional.hpp"
#include "transport/format/block.hpp"
#include "transport/output/block_source.hpp"

namespace l3 {

/// The forwarder's thread calls it, but for what says otherwise.
class send_window {
public:
  using report_function = std::function<void(std::string_view)>;

  /// The source must outlive it. `receiver` is its address, for reports.
  send_window(block_source& from, std::string receiver, report_function report);
  send_window(const send_window&) = delete;
  send_window& operator=(const send_window&) = delete;

  // What happens.

  /// The source has another lane now, none of whose blocks is under way.
  void begin_lane();
  /// The connection came, or broke, or was refused: the receiver has to welcome the lane again.
  void connection_changed(bool broke, time_point now);
  /// A message came. One of another session is passed over.
  void take(const link_header& header, std::string_view body, time_point now);
  /// Nothing is to be said before then, unless something happens.
  void put_off(time_point until) { not_before_ = until; }
  /// The next block went under way.
  void sent(const held_block& block, time_point now);
  /// If there was no progress for so long, the first block that is not stored goes once more,
  /// unless its memory is still held: then it has not left, and a second copy would only stand
  /// behind it.
  void go_back_after(std::chrono::nanoseconds patience, time_point now);
  /// The lane ends. True if the receiver had welcomed it.
  bool leave() { return welcomed_.exchange(false); }
  /// Something that a person should know; not twice in a row, and not without end.
  void report_once(std::string text, time_point now);

  // What is known.

  [[nodiscard]] time_point not_before() const { return not_before_; }
  /// The block to be sent next: behind those under way, and no further than behind the last sealed
  /// one.
  [[nodiscard]] std::uint64_t next() const { return source_.lane().stored + under_way_.size() + 1; }
  /// It is sealed, and the receiver has given credit for it.
  [[nodiscard]] bool may_send_next() const {
    return under_way_.size() < credit_ && next() <= source_.lane().sealed;
  }
  /// It was not sent before.
  [[nodiscard]] bool next_is_new() const { return next() > highest_sent_; }
  [[nodiscard]] bool has_blocks_under_way() const { return !under_way_.empty(); }
  /// When an acknowledgement last brought news, or blocks went under way.
  [[nodiscard]] time_point progress_at() const { return progress_at_; }

  // Any thread.

  [[nodiscard]] bool is_welcome() const { return welcomed_.load(std::memory_order_relaxed); }
  /// The receiver said why it does not store what it is sent, and has stored nothing since.
  [[nodiscard]] bool is_refused() const { return refused_.load(std::memory_order_relaxed); }
  /// The receiver has claimed to have blocks that were never sent, and said nothing better since.
  [[nodiscard]] bool is_wrong() const { return wrong_.load(std::memory_order_relaxed); }
  /// When the receiver last said something to this lane.
  [[nodiscard]] time_point answered_at() const { return answered_at_; }
  [[nodiscard]] const forward_counters& counters() const { return counters_; }

private:
  void welcomed(const link_header& header, time_point now);
  void acknowledged(const link_header& header, time_point now);
  void refused(std::string_view text, time_point now);
  [[nodiscard]] bool is_impossible(std::uint64_t stored, time_point now);
  void take_credit(std::uint32_t blocks);

  block_source& source_;
  const std::string receiver_;
  report_function report_;
  forward_counters counters_;

  std::uint64_t welcomes_ = 0;                      ///< in this lane
  std::deque<std::weak_ptr<const void>> under_way_; ///< holds of the blocks behind the stored ones
  std::uint64_t highest_sent_ = 0;                  ///< of all connections
  std::uint64_t credit_ = 0;                        ///< blocks that may be under way
  time_point progress_at_;
  time_point not_before_;
  time_point hello_wanted_at_; ///< when the receiver last asked for one
  std::string last_report_;
  line_budget lines_{20, std::chrono::seconds(10)};

  std::atomic<bool> welcomed_{false};
  std::atomic<bool> refused_{false};
  std::atomic<bool> wrong_{false};
  std::atomic<time_point> answered_at_{};
};

} // namespace l3
