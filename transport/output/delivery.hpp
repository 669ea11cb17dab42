// SPDX-License-Identifier: Apache-2.0
// How far the delivery of a lane's blocks has come, as a forwarder knows it: which block goes next,
// how many may be under way, whether the receiver welcomed us and when to try again. Every message
// of the receiver is taken here (docs/protocol.md); whatever it says, blocks are only let go that
// were sealed. There is no socket in it and no clock: the forwarder has these.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "transport/accounting/counters.hpp"
#include "transport/format/block.hpp"
#include "transport/output/block_source.hpp"

namespace l3 {

/// Written by the forwarder's thread.
struct forward_counters {
  counter blocks;       ///< sent, repeats included
  counter bytes;        ///< of these
  counter resent;       ///< blocks sent once more
  counter acknowledged; ///< blocks
  counter reconnects;   ///< welcomes after the first
  counter refusals;     ///< by the receiver, with a text
};

/// All times are the caller's, in ns as steady_now(). The forwarder's thread, but for what says
/// otherwise.
class delivery {
public:
  using report_function = std::function<void(std::string_view)>;

  /// The source must outlive it. `receiver` is its address, for reports.
  delivery(block_source& from, std::string receiver, report_function report);
  delivery(const delivery&) = delete;
  delivery& operator=(const delivery&) = delete;

  // What happens.

  /// The source has another lane now, whose blocks nobody has asked for yet.
  void begin_lane();
  /// The connection came, or broke, or was refused: we are strangers again.
  void connection_changed(bool broke);
  /// A message came. One of another session is passed over.
  void take(const line_header& header, std::string_view body, std::uint64_t now);
  /// Nothing is to be said before then, unless something happens.
  void put_off(std::uint64_t until) { not_before_ = until; }
  /// The next block went under way.
  void sent_next(std::uint64_t bytes, std::uint64_t now);
  /// If there was no progress for so long, the first block that is not stored goes once more,
  /// unless it has not even left.
  void go_back_after(std::uint64_t patience, std::uint64_t now);
  /// The lane ends. True if somebody had welcomed it.
  bool leave() { return welcomed_.exchange(false); }
  /// Something that a person should know; not twice in a row.
  void report_once(std::string text);

  // What is known.

  [[nodiscard]] const block_identity& lane() const { return lane_; }
  [[nodiscard]] std::uint64_t not_before() const { return not_before_; }
  /// The block to be sent next: behind the last stored one, and no further than behind the last
  /// sealed one.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  /// It is sealed, and the receiver has given credit for it.
  [[nodiscard]] bool may_send_next() const {
    return next_ <= source_.last_sealed() && next_ - source_.last_stored() <= window_;
  }
  [[nodiscard]] bool has_blocks_under_way() const { return next_ > source_.last_stored() + 1; }
  /// When an acknowledgement last brought news, or blocks went under way.
  [[nodiscard]] std::uint64_t progress_at() const { return progress_at_; }

  // Any thread.

  [[nodiscard]] bool is_welcome() const { return welcomed_.load(std::memory_order_relaxed); }
  /// It said why it does not store what we have, and has stored nothing since.
  [[nodiscard]] bool is_refused() const { return refused_.load(std::memory_order_relaxed); }
  /// When the receiver last said something to this lane.
  [[nodiscard]] std::uint64_t answered_at() const {
    return answered_at_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const forward_counters& counters() const { return counters_; }

private:
  void welcomed(const line_header& header, std::uint64_t now);
  void acknowledged(const line_header& header, std::uint64_t now);
  void refused(std::string_view text, std::uint64_t now);

  block_source& source_;
  const std::string receiver_;
  report_function report_;
  forward_counters counters_;

  block_identity lane_;            ///< what the source has now
  std::uint64_t welcomes_ = 0;     ///< in this lane
  std::uint64_t next_ = 0;         ///< the block to be sent next
  std::uint64_t highest_sent_ = 0; ///< of all connections
  std::uint64_t window_ = 0;       ///< blocks that may be under way
  std::uint64_t progress_at_ = 0;
  std::uint64_t not_before_ = 0;
  std::string last_report_;

  std::atomic<bool> welcomed_{false};
  std::atomic<bool> refused_{false};
  std::atomic<std::uint64_t> answered_at_{0};
};

} // namespace l3
