// SPDX-License-Identifier: Apache-2.0
// A lane's part of the line, as its receiver granted it (docs/protocol.md). A receiver that divides
// its line says so in its welcome; from then on no block goes without a grant that holds, and the
// lane says now and then what it could send. A grant holds for a time after the demand that it
// answers was sent: a receiver that is not heard any more gives the part to another. Of a receiver
// that grants nothing there is no limit here. The clock is the caller's.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/format/link_body.hpp"
#include "transport/format/time.hpp"
#include "transport/format/units.hpp"
#include "transport/output/link_pace.hpp"

namespace l3 {

/// The forwarder's thread calls it, but for what says otherwise.
class link_grant {
public:
  /// How far a daemon may fall behind its part and still make up for it.
  static constexpr std::chrono::nanoseconds burst = std::chrono::milliseconds(10);

  /// `weight`: the lanes of one daemon divide its part in this proportion.
  explicit link_grant(std::uint32_t weight) : weight_(weight) {}

  /// The connection, or the lane, is another one: what was granted does not hold any more.
  void forget();
  /// The body of a welcome: whether this receiver divides its line.
  void welcomed(std::span<const std::byte> body, time_point now);
  /// The body of an acknowledgement.
  void take(std::span<const std::byte> body, time_point now);

  /// Zero if a block may go now; else ask again then. A new grant may come before.
  [[nodiscard]] std::chrono::nanoseconds wait(time_point now) const;
  void sent(std::uint64_t bytes, time_point now);

  /// When a demand is due; never: the receiver grants nothing. `waiting`: bytes that could be sent.
  [[nodiscard]] time_point demand_at(std::uint64_t waiting) const;
  /// The demand to be sent now. `most`: the rate that the daemon itself keeps to.
  [[nodiscard]] link_demand_body demand(std::uint64_t waiting, bit_rate most, time_point now);

  /// For how long there has been no grant that holds; zero: there is one, or none is needed.
  [[nodiscard]] std::chrono::nanoseconds missing_for(time_point now) const;

  /// In bits a second, 0 while none holds; below 0: the receiver grants nothing. Any thread.
  [[nodiscard]] double granted() const { return granted_.load(std::memory_order_relaxed); }

private:
  void show(double rate) { granted_.store(rate, std::memory_order_relaxed); }

  const std::uint32_t weight_;
  bool divided_ = false;
  std::uint64_t rate_ = 0;  ///< bits a second
  std::uint32_t grant_ = 0; ///< its number; 0: none
  time_point valid_until_;
  pacer pacer_{{}, burst};

  std::uint32_t last_demand_ = 0;
  std::uint32_t answered_ = 0; ///< the latest demand that was answered
  std::uint32_t told_ = 0;     ///< the grant that the last demand named
  std::uint64_t told_waiting_ = 0;
  time_point demanded_at_;
  std::array<time_point, 32> sent_at_{}; ///< the latest demands, by number
  std::atomic<double> granted_{-1};
};

} // namespace l3
