// SPDX-License-Identifier: Apache-2.0
// The state of one spill: its events, its ends of spill, its sums. The memory for the largest spill
// is allocated once, and a table is reused for a later spill.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/format/l2.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// The sums of an ended spill. If more of it arrives, it is reported again with new sums.
struct spill_summary {
  std::uint32_t spill = 0;
  std::uint64_t admitted = 0;
  std::uint64_t incomplete = 0;
  std::optional<std::uint64_t> expected; ///< events sent since the run began, if the senders told
  std::uint64_t nth = 0; ///< number within the run: distinguishes spills with the same spill number
  std::uint64_t missing = 0; ///< events that a crate has sent, and of which nothing came

  friend bool operator==(const spill_summary&, const spill_summary&) = default;
};

/// An end-of-spill record of a stream. Sequence numbers count per sender, so two senders may use
/// the same ones, and a sender that reconnects or restarts repeats its records.
struct stream_end {
  std::uint64_t stream = 0; ///< which connection; 0: closed
  std::uint64_t record = 0; ///< sequence number
  std::uint64_t events = 0;
  bool again = false; ///< numbered before the connection's hello, so sent by an earlier one too
};

class spill_table {
public:
  spill_table(std::uint32_t max_events, std::uint32_t crates);

  /// Begins a spill and forgets the previous one, which must have no open event.
  void begin(std::uint32_t number, std::uint64_t nth, time_point now);

  // The spill.
  std::optional<std::uint32_t> number; ///< a free table keeps its last one
  bool confirmed = false;              ///< named by more than one stray datagram
  bool proven = false;                 ///< named by more than a few stray datagrams
  bool closed = false;   ///< the spill has ended: an older one may follow if a sender restarts
  bool is_first = false; ///< data of it may have come before the run began
  std::uint64_t statement = 0;  ///< the last datagram that named this spill
  std::uint32_t statements = 0; ///< number of them, counting consecutive repeats once
  std::uint64_t stated_by = 0;  ///< crates that sent them, one bit each
  time_point last_activity{};
  std::uint32_t streams = 0; ///< connections that have begun but not ended this spill

  /// `repeat`: whole, and admitted when the spill came before. `forwarded`: given up, and admitted
  /// incomplete.
  enum class event_state : std::uint32_t { untouched, whole, repeat, given_up, forwarded, open };
  [[nodiscard]] event_state state(std::uint32_t event_number) const {
    return static_cast<event_state>(std::min(events_[event_number], first_handle));
  }
  [[nodiscard]] bool is_open(std::uint32_t event_number) const {
    return state(event_number) == event_state::open;
  }
  [[nodiscard]] bool is_whole(std::uint32_t event_number) const {
    return state(event_number) == event_state::whole || state(event_number) == event_state::repeat;
  }
  [[nodiscard]] bool has_ended(std::uint32_t event_number) const {
    return state(event_number) != event_state::untouched && !is_open(event_number);
  }
  /// The handle of an open event.
  [[nodiscard]] std::uint32_t handle(std::uint32_t event_number) const {
    assert(is_open(event_number));
    return events_[event_number] - first_handle;
  }
  void open(std::uint32_t event_number, std::uint32_t handle);
  struct outcome {
    bool whole = false;
    bool admitted = false;
    /// One bit for each crate whose fragment came twice, or came at all if the event is not whole.
    std::uint64_t counted = 0;
  };
  /// Adds the event to the sums; a finished event is first removed from them.
  void finish(std::uint32_t event_number, const outcome& o);
  void forget(std::uint32_t event_number); ///< an open event becomes untouched again

  /// Call it for data of a finished event. True once for each crate whose fragment was not counted
  /// before: in a whole event a fragment that came once, in another one a fragment that never came.
  [[nodiscard]] bool first_late(std::uint32_t event_number, std::uint32_t crate);

  [[nodiscard]] std::uint32_t open_events() const { return open_; }

  // A repeated part of an end of spill is ignored.
  void end_of_spill(std::uint32_t crate, std::uint32_t part, std::uint32_t parts,
                    std::uint32_t count);
  void end_of_stream(const stream_end& end);
  void stream_gone(std::uint64_t stream);
  [[nodiscard]] std::optional<std::uint64_t> expected() const;
  /// Events that the ends of crates have counted, and of which nothing came; without those before
  /// the run. Over TCP no event can be missing.
  [[nodiscard]] std::uint64_t missing() const;
  /// Whether every crate has told its number of events, and that many have begun to arrive.
  [[nodiscard]] bool all_arrived() const {
    return complete_ends_ == ends_.size() && begun_ >= most_sent_;
  }

  /// The sums, if the spill is confirmed and has ended, and they are not reported yet.
  [[nodiscard]] std::optional<spill_summary> take_summary();

private:
  static constexpr auto first_handle = static_cast<std::uint32_t>(event_state::open);

  struct crate_end {
    std::uint64_t have = 0; // parts
    std::uint32_t parts = 0;
    std::uint64_t count = 0;
    [[nodiscard]] bool complete() const;
  };

  void note_begun(std::uint32_t event_number);
  void count(event_state state, std::uint64_t events);
  /// Events of a first spill before the first one that came: the run began within the spill.
  [[nodiscard]] std::uint64_t before_the_run() const {
    return is_first && lowest_ != 0 ? lowest_ - 1 : 0;
  }

  std::vector<std::uint32_t> events_;  // by event number: a state, or first_handle plus a handle
  std::vector<std::uint64_t> counted_; // of finished events: one bit per crate, see first_late()
  std::vector<crate_end> ends_;
  std::uint64_t nth_ = 0;
  std::size_t complete_ends_ = 0;
  std::uint64_t most_sent_ = 0; // of the crates with a complete end of spill
  std::uint32_t highest_ = 0;
  std::uint32_t lowest_ = 0;
  std::uint32_t begun_ = 0; // number of events that are not untouched
  std::uint32_t open_ = 0;
  std::uint64_t admitted_ = 0;
  std::uint64_t incomplete_ = 0;
  std::vector<stream_end> stream_ends_; // the latest
  std::uint64_t stream_sum_ = 0;        // of those, and of all before them
  bool stream_ended_ = false;
  bool unreported_ = false;
};

} // namespace l3
