// SPDX-License-Identifier: Apache-2.0
// The line into a receiver, divided among the daemons that send on it (docs/protocol.md). Each lane
// says what it could send, and is granted a rate for half a second; peers get equal parts, which
// their nodes share, but none more than it could use while another could use more, and each at
// least a little. A node is known by its peer and its number: a number alone is only said. What is
// in force never exceeds the line: a part that was taken from one lane is given to another only
// when the first has said that it knows, or when its grant has run out. A lane that knows no
// grants, or that sends more than it was granted, is slowed by acknowledgements that wait. There is
// no socket in it and no clock.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "transport/format/link_body.hpp"
#include "transport/format/time.hpp"
#include "transport/format/units.hpp"

namespace l3 {

/// Of whom a lane is, as far as the line is divided.
struct line_user {
  std::string peer;       ///< its key or address (peer_share)
  std::uint32_t node = 0; ///< as its hello says

  friend auto operator<=>(const line_user&, const line_user&) = default;
};

class line_shares {
public:
  /// How long a grant holds after its demand.
  static constexpr std::chrono::milliseconds lease{500};
  /// Of the line, what is granted: timers and the kernel's buffers are not exact.
  static constexpr double granted_part = 0.998;
  /// Of the line, what the nodes together have whether they ask for it or not.
  static constexpr double floor_part = 0.005;
  /// An acknowledgement waits for no longer: the daemon would send its blocks again.
  static constexpr std::chrono::milliseconds longest_hold{1000};

  /// A line without limit (0) is not divided: nothing is granted, and nothing waits.
  explicit line_shares(bit_rate line) : line_(line.bits_per_second) {}

  [[nodiscard]] bool divides() const { return line_ > 0; }

  // What happens.

  void demand(std::uint64_t session, const line_user& user, const link_demand_body& wanted,
              time_point now);
  /// A block of so many bytes came. `under_way`: bytes that its daemon may have on the way.
  void took(std::uint64_t session, const line_user& user, std::uint64_t bytes,
            std::uint64_t under_way, time_point now);
  /// It said goodbye.
  void end(std::uint64_t session);

  /// Divides the line anew if it is time for it; the lanes that have to be told.
  [[nodiscard]] std::vector<std::uint64_t> divide(time_point now);
  /// When divide() or an acknowledgement that waits may have something to do, if nothing comes.
  [[nodiscard]] time_point due(time_point now) const;

  // What is known.

  /// For an answer to this lane, not sealed; nothing: the line is not divided.
  [[nodiscard]] std::optional<link_answer_body> grant_of(std::uint64_t session) const;
  /// The lane's acknowledgement has to wait: it has sent more than its part.
  [[nodiscard]] bool holds_back(std::uint64_t session, time_point now);
  /// The lane keeps neither to its grant nor to its credit.
  [[nodiscard]] bool is_greedy(std::uint64_t session, time_point now);
  /// How many of its blocks, of which the longest has so many bytes, a lane that knows no grants
  /// may have under way; nothing: as many as any other.
  [[nodiscard]] std::optional<std::uint32_t> credit_of(std::uint64_t session,
                                                       std::uint64_t longest) const;
  /// Granted to the nodes of this number, in bits a second.
  [[nodiscard]] double granted_to(std::uint32_t node, time_point now) const;
  /// Granted to all; what is in force for all is never more than the line.
  [[nodiscard]] double in_force(time_point now) const;
  [[nodiscard]] double line() const { return line_; }

private:
  struct lane {
    line_user user;
    bool knows_grants = false; ///< it has sent a demand
    link_demand_body wanted;   ///< the latest
    time_point heard_at;       ///< the demand; of a lane that knows none, its last block

    double told = 0;          ///< bits a second
    std::uint32_t number = 0; ///< of what it was told
    double told_before = 0;   ///< may still be in force
    bool confirmed = true;    ///< it has said that it knows what it was told

    double used = 0; ///< bits a second, lately
    time_point used_at;
    double last_block = 0; ///< bytes
    double debt = 0;       ///< bytes that came beyond what was in force
    time_point debt_at;
    std::uint64_t under_way = 0;
    std::optional<time_point> held_since; ///< its acknowledgement waits

    [[nodiscard]] bool is_there(time_point now) const;
    [[nodiscard]] double in_force(time_point now) const;
    [[nodiscard]] double used_now(time_point now) const;
    [[nodiscard]] double could_use(time_point now) const;
    void tell(double rate, time_point now);
    void settle(time_point now);
  };

  lane& find_or_begin(std::uint64_t session, const line_user& user, time_point now);
  void let_go_the_absent(time_point now);
  [[nodiscard]] std::map<std::uint64_t, double> parts(time_point now) const;

  double line_;
  std::map<std::uint64_t, lane> lanes_; ///< by session
  bool changed_ = false;
  time_point divided_at_;
};

} // namespace l3
