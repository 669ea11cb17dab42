// SPDX-License-Identifier: Apache-2.0
// One daemon of a TCP replay: its connection, and its unacknowledged records (docs/formats.md,
// section 4). If it is the only daemon, it keeps these over broken connections, and a new
// connection sends them again. One of several daemons gives them up when its connection breaks or
// is silent, so that others take them, and starts empty when it is back.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <poll.h>

#include "tools/replay/record_connection.hpp"
#include "tools/replay/report.hpp"
#include "tools/replay/source.hpp"
#include "transport/format/record.hpp"

namespace l3 {

// Makes the records of a replay from its file whenever one is sent, so that none is kept.

/// A spill of a replay.
struct replayed_spill {
  std::uint32_t loop = 0;
  std::size_t spill = 0; ///< index in the file

  friend auto operator<=>(const replayed_spill&,
                          const replayed_spill&) = default; // NOLINT(modernize-use-nullptr)
};

/// Identifies a record of a replay.
struct replay_step {
  replayed_spill of;
  record_type type = record_type::begin_of_spill;
  std::size_t event = 0;    ///< index in the spill
  std::uint32_t events = 0; ///< in an end of spill: events given to its daemon
};

/// One per connection: a record lives until the next one is made.
class record_maker {
public:
  explicit record_maker(const replay_source& source) : source_(source), changer_(source.crates()) {}

  struct record {
    record_header header;
    std::span<const std::byte> body;
  };
  [[nodiscard]] record hello(std::uint64_t sequence);
  [[nodiscard]] record make(const replay_step& s, std::uint64_t sequence);
  /// Length of header and body.
  [[nodiscard]] std::size_t bytes_of(const replay_step& s) const;

private:
  const replay_source& source_;
  spill_changer changer_;
  std::vector<std::byte> small_body_; // of a record other than an event
};

class node_stream {
public:
  struct limits {
    std::uint64_t window = 0; ///< bytes of unacknowledged records
    std::chrono::nanoseconds time{};
    bool alone = false; ///< the only daemon: connecting may wait
  };
  using elapsed = std::chrono::nanoseconds; ///< since the replay began

  /// Begins to connect. Throws std::runtime_error if the host is unknown.
  node_stream(const replay_source& source, const destination& to, const limits& bounds);

  /// Waits for the first connection. Throws std::system_error if it fails.
  void wait_for_connection();

  [[nodiscard]] bool there() const { return connection_ != nullptr; }
  /// Whether an event of this size would be sent now.
  [[nodiscard]] bool can_take(std::size_t bytes) const;
  /// Whether nothing is in flight or waits to be sent.
  [[nodiscard]] bool idle() const;
  /// Whether records are in flight.
  [[nodiscard]] bool waits() const { return !window_.empty(); }
  [[nodiscard]] std::uint64_t acknowledged() const { return report_.acknowledged; }
  [[nodiscard]] std::size_t under_way() const { return window_.size(); }

  // Records to send. Sent at once if can_take() holds, else as soon as possible.
  void begin_spill(const replayed_spill& spill);
  void take_event(const replay_step& event);
  void end_spill(const replayed_spill& spill);
  /// Ends all spills of which it took events, except this one.
  void end_spills_but(const std::optional<replayed_spill>& spill);

  enum class state : std::uint8_t {
    going_on, ///< connected or reconnecting
    broken,   ///< the connection has just broken
    refused,  ///< permanently; see trouble()
    wrong,    ///< an impossible answer; see trouble()
  };
  /// Writes, reads and reconnects, without waiting.
  [[nodiscard]] state move_on(elapsed now);

  /// Gives up its connection. Returns the unacknowledged events in order.
  [[nodiscard]] std::vector<replay_step> give_up(elapsed now);
  /// Likewise, without reconnecting later.
  [[nodiscard]] std::vector<replay_step> give_up_for_good(elapsed now);

  /// Time of the last acknowledgement, or the last time without unacknowledged records.
  [[nodiscard]] elapsed last_progress() const { return last_progress_; }
  /// Since when its connections break; nothing once everything in flight then is acknowledged.
  [[nodiscard]] std::optional<elapsed> broken_since() const {
    return broken_ ? std::optional(broken_->since) : std::nullopt;
  }
  /// Why it is absent or refused; may be empty.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  void add_poll(std::vector<pollfd>& to) const;
  [[nodiscard]] node_report report() const;
  [[nodiscard]] const destination& to() const { return to_; }

private:
  struct record_under_way {
    std::uint64_t sequence = 0;
    std::uint64_t begin_sequence = 0; ///< of its spill's begin record
    replay_step what;
    std::size_t bytes = 0;
  };
  /// The state after a break until everything in flight then is acknowledged. Further breaks do not
  /// restart it: a peer that accepts, acknowledges a little and closes does not renew the time
  /// limit.
  struct break_state {
    elapsed since{};
    std::uint64_t recovered_at = 0;    ///< the acknowledged record that ends this state
    std::chrono::milliseconds pause{}; ///< before the next connection
  };

  void connect_in_background();
  void look_for_connection(elapsed now);
  void greet();
  void take_up_again();
  void note_break(elapsed now);
  void close();
  void plan(const replay_step& s);
  void send_next();
  /// Returns false for an impossible acknowledgement.
  [[nodiscard]] bool take_acknowledgements(elapsed now);

  destination to_;
  socket_address address_;
  limits limits_;
  record_maker maker_;
  std::unique_ptr<record_connection> connection_;
  std::future<std::unique_ptr<record_connection>> connecting_;
  std::optional<elapsed> connect_at_; // set without a connection or attempt

  std::uint64_t sequence_ = 0;          // of the newest record
  std::deque<record_under_way> window_; // by rising sequence
  std::uint64_t window_bytes_ = 0;
  std::deque<record_under_way> again_;            // to be sent on this connection first
  std::deque<replay_step> planned_;               // not sent yet
  std::optional<replayed_spill> open_;            // begun but not ended
  std::uint64_t begin_sequence_ = 0;              // of its begin record
  std::map<replayed_spill, std::uint32_t> taken_; // events of unfinished spills

  elapsed last_progress_{};
  std::optional<break_state> broken_;
  std::string trouble_;
  node_report report_;
};

} // namespace l3
