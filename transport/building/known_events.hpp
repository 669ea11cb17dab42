// SPDX-License-Identifier: Apache-2.0
// The admitted events of all 512 spill numbers. Senders repeat unacknowledged records, and the
// daemon takes each event once. It remembers a mark of each event: 32 bits made from the digests
// of the event's fragments (fragment_index.hpp). A record with the same numbers but another mark is
// another event.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/format/event_key.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/prescale.hpp"

namespace l3 {

/// The digest of an event, independent of the order of its fragments.
class event_digest {
public:
  /// `digest` of the fragment of the crate at this place in the readout list. Equal fragments of
  /// two crates differ in the sum.
  void add(std::uint32_t crate, std::uint64_t digest) {
    sum_ += mix_bits(digest + mix_bits(crate + 1));
  }
  /// Never 0.
  [[nodiscard]] std::uint32_t mark() const {
    return std::max<std::uint32_t>(static_cast<std::uint32_t>(sum_ >> 32), 1);
  }

private:
  std::uint64_t sum_ = 0;
};

class known_events {
public:
  void add(event_key key, std::uint32_t mark) {
    auto& marks = marks_[key.spill];
    if (key.number >= marks.size()) marks.resize(key.number + 1);
    marks[key.number] = mark;
  }
  /// The mark of the event; 0 if it is unknown.
  [[nodiscard]] std::uint32_t mark(event_key key) const {
    const auto& marks = marks_[key.spill];
    return key.number < marks.size() ? marks[key.number] : 0;
  }
  /// Call it when the spill number is used for a new spill.
  void forget(std::uint32_t spill) { marks_[spill].clear(); }

  static constexpr std::size_t spills = l2::spill_mask + 1;

private:
  // By spill number, then event number. A vector keeps its memory for the next spill of its number.
  std::vector<std::vector<std::uint32_t>> marks_{spills};
};

} // namespace l3
