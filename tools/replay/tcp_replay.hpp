// SPDX-License-Identifier: Apache-2.0
// Sends a file as a record stream until every record is acknowledged (docs/formats.md, section 4):
// a new connection sends unacknowledged records again. Records are made from the file each time
// they are sent, so none is copied; a window bounds how much may be under way. Every wait ends: the
// replay gives up a peer that acknowledges nothing for the time limit, and one whose connections
// break and which has not acknowledged in the time limit what was under way at the first break.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "tools/replay/loop.hpp"
#include "tools/replay/record_connection.hpp"
#include "tools/replay/report.hpp"
#include "tools/replay/source.hpp"
#include "tools/replay/watch.hpp"

namespace l3 {

struct tcp_replay_settings {
  destination to;
  replay_rate rate;
  std::uint32_t loops = 1;
  std::uint64_t window = 256U << 20; ///< bytes of records not acknowledged
  std::chrono::nanoseconds time_limit = std::chrono::seconds(30); ///< for any wait
};

class tcp_replay {
public:
  /// Connects. Throws std::runtime_error without a daemon there.
  tcp_replay(const replay_source& source, const tcp_replay_settings& settings);

  /// Call once. The report has what the network or the daemon did.
  replay_report run(const replay_watch& watch);

private:
  /// Names a record of the replay.
  struct step {
    std::uint32_t loop = 0;
    std::size_t spill = 0;
    record_type type = record_type::begin_of_spill;
    std::size_t event = 0;
  };
  struct under_way {
    std::uint64_t sequence = 0;
    std::uint64_t begin_sequence = 0; ///< of the record that began its spill
    step what;
    std::size_t bytes = 0;
  };
  struct made_record {
    record_header header;
    std::span<const std::byte> body;
  };

  /// A connection broke, and what was under way is not acknowledged yet. Further breaks belong to
  /// the same trouble: a peer that accepts, acknowledges a little and closes does not renew it.
  struct trouble {
    std::chrono::nanoseconds since{};
    std::uint64_t recovered_at = 0;    ///< the acknowledged record that ends it
    std::chrono::milliseconds pause{}; ///< before the next connection
  };

  [[nodiscard]] std::optional<step> after(const step& s) const;
  [[nodiscard]] made_record make(const step& s, std::uint64_t sequence);
  [[nodiscard]] std::size_t bytes_of(const step& s) const;
  /// When the next new record is due.
  void plan_next();

  bool send_something();
  void send_hello();
  void take_acknowledgements();
  [[nodiscard]] std::unique_ptr<record_connection> connect() const;
  void note_break();
  /// Pauses, and connects anew; false when the time limit is over, or the caller stops the replay.
  [[nodiscard]] bool reconnect(const replay_watch& watch);
  [[nodiscard]] bool over(std::chrono::nanoseconds since) const;
  [[nodiscard]] bool complete() const;
  [[nodiscard]] std::string what_waits() const;
  void take_up_again();
  void note_sent(const step& s);
  [[nodiscard]] std::chrono::nanoseconds idle_time() const;

  const replay_source& source_;
  tcp_replay_settings settings_;
  socket_address address_;
  spill_changer changer_;
  schedule schedule_;
  pace_keeper pace_;
  std::unique_ptr<record_connection> connection_;
  std::uint64_t bytes_before_ = 0; // on earlier connections

  std::optional<step> next_;
  schedule::slot next_slot_;
  std::uint64_t sequence_ = 0;       // of the newest record
  std::uint64_t begin_sequence_ = 0; // of the spill of next_
  std::deque<under_way> window_;     // in rising sequence
  std::uint64_t window_bytes_ = 0;
  std::deque<under_way> again_; // to be sent on this connection before anything new

  std::vector<std::byte> small_body_; // of a record that is no event
  std::chrono::nanoseconds last_progress_{};
  std::optional<trouble> broken_;
  std::chrono::nanoseconds spill_begun_{};
  double earlier_seconds_ = 0; // of sending, in the spills before
  replay_report report_;
};

} // namespace l3
