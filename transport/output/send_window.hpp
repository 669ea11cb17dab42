// SPDX-License-Identifier: Apache-2.0
// The blocks of a lane that are under way, as its forwarder knows them: which goes next, how many
// may be under way, whether the receiver welcomed the lane and when to try again. Every message of
// the receiver is taken here (docs/protocol.md). A message never lets go a block that was not sent.
// There is no socket in it and no clock: the forwarder has these.
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
#include "transport/output/block_source.hpp"

namespace l3 {

/// The forwarder's thread calls it, but for what says otherwise.
class send_window {
public:
  using report_function = std::function<void(std::string_view)>;

  /// The source must outlive it. `receiver` is its address, for reports.
  /// `ways`: connections over which the lane is sent.
  send_window(block_source& from, std::string receiver, report_function report,
              std::size_t ways = 1);
  send_window(const send_window&) = delete;
  send_window& operator=(const send_window&) = delete;

  // What happens.

  /// The source has another lane now, none of whose blocks is under way.
  void begin_lane();
  /// The connection came, or broke, or was refused: the receiver has to welcome the lane again.
  void connection_changed(bool broke, time_point now);
  /// Of several connections one came or broke, and others are welcome: the blocks that went over
  /// it, and of which the receiver has not said that they came, go again.
  void lost(std::size_t way);
  /// Something came over it: it lives.
  void heard(std::size_t way) { ways_[way].is_suspect = false; }
  /// A welcome of one more connection.
  void joined(const link_header& header, std::string_view body, time_point now);
  /// Of several connections one that brings nothing any more while the others do is not used until
  /// it is heard again; what went over it goes again.
  void leave_silent_ways(time_point now);
  /// A message came. One of another session is passed over.
  void take(const link_header& header, std::string_view body, time_point now);
  /// The next block went under way.
  void sent(const held_block& block, time_point now, std::size_t way = 0);
  /// If there was no progress for so long, the first block that is not stored goes once more, and
  /// those behind it, unless its memory is still held: then it has not left, and a second copy
  /// would only stand behind it. Each further copy waits twice as long, up to a limit, and until
  /// the receiver has said something since the one before went: it has not read that one else.
  void go_back_after(std::chrono::nanoseconds patience, time_point now);
  /// When go_back_after() is due.
  [[nodiscard]] time_point go_back_at(std::chrono::nanoseconds patience) const {
    return progress_at_ + patience * (1U << std::min(copies_, most_doublings));
  }
  /// The lane ends. True if the receiver had welcomed it.
  bool leave() { return welcomed_.exchange(false); }
  /// Something that a person should know; not twice in a row, and not without end.
  void report_once(std::string text, time_point now);

  // What is known.

  [[nodiscard]] time_point not_before() const { return not_before_; }
  /// The block to be sent next: the first that has to go again, or the one behind those under way,
  /// no further than behind the last sealed one.
  [[nodiscard]] std::uint64_t next() const;
  /// It is sealed, and the receiver has given credit for it.
  [[nodiscard]] bool may_send_next() const {
    return again_ > 0 || (under_way_.size() < credit_ && behind() <= source_.lane().sealed);
  }
  /// Of these connections the one over which the next block goes: the one that has least to do;
  /// nothing: all have enough. One that is alone always takes more.
  [[nodiscard]] std::optional<std::size_t> choose_way(std::span<const bool> welcome) const;
  [[nodiscard]] bool is_suspect(std::size_t way) const { return ways_[way].is_suspect; }
  [[nodiscard]] bool has_blocks_under_way() const { return !under_way_.empty(); }
  // Any thread.

  [[nodiscard]] bool is_welcome() const { return welcomed_.load(std::memory_order_relaxed); }
  /// The receiver said why it does not store what it is sent, or did not take a block that was sent
  /// to it again and again, and has stored nothing since.
  [[nodiscard]] bool is_refused() const { return refused_.load(std::memory_order_relaxed); }
  /// The receiver has claimed to have blocks that were never sent, and did not say what is possible
  /// ten seconds or more after that.
  [[nodiscard]] bool is_wrong() const { return wrong_.load(std::memory_order_relaxed); }
  /// When the receiver last said something to this lane.
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
    bool came = false;  ///< the receiver has it, and waits for one before it
    bool again = false; ///< it has to be sent once more
  };
  struct way_state {
    time_point brought_at;            ///< a block, of which the receiver then said that it came
    std::chrono::nanoseconds usual{}; ///< from sending a block to hearing that it came, lately
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
  std::deque<sent_block> under_way_; ///< the blocks behind the stored ones
  std::size_t again_ = 0;            ///< of these, to be sent once more
  std::vector<way_state> ways_;
  std::size_t last_way_ = 0;       ///< over which a block went
  std::uint64_t highest_sent_ = 0; ///< of all connections
  std::uint64_t credit_ = 0;       ///< blocks that may be under way
  time_point progress_at_; ///< when an acknowledgement last brought news, or blocks went under way
  unsigned copies_ = 0;    ///< that went since without news
  time_point copied_at_;   ///< when the first block under way went
  time_point read_at_;     ///< the receiver last said what shows that it reads what went lately
  time_point not_before_;
  time_point hello_wanted_at_; ///< when the receiver last asked for one
  time_point wrong_at_;        ///< when it last made an impossible claim
  std::string last_report_;
  line_budget lines_{20, std::chrono::seconds(10)};

  std::atomic<bool> welcomed_{false};
  std::atomic<bool> refused_{false};
  std::atomic<bool> wrong_{false};
  std::atomic<time_point> answered_at_{};
};

} // namespace l3
