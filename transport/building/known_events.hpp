// SPDX-License-Identifier: Apache-2.0
// The admitted events of all 512 spill numbers. Senders repeat unacknowledged records, and the
// daemon takes each event once. It remembers one bit per event, and for the latest millions a mark:
// 32 bits made from the digests of the event's fragments (fragment_index.hpp). A record with the
// same numbers but another mark is another event.
//
// The marks are in pages, each for 1024 event numbers of a spill. All memory is allocated at the
// start. When every page is in use, the oldest one is reused, and its marks are forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/format/event_key.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

/// The digest of an event, independent of the order of its fragments.
class event_digest {
public:
  /// `digest` of the fragment of the crate at this place in the readout list.
  void add(std::uint32_t crate, std::uint64_t digest);
  [[nodiscard]] std::uint32_t mark() const; ///< never 0

private:
  std::uint64_t sum_ = 0;
};

class known_events {
public:
  /// Has room for `marks`, rounded to whole pages.
  known_events(std::uint32_t max_events_per_spill, std::size_t marks);

  /// `mark` of the fragments that were taken.
  void add(event_key key, std::uint32_t mark);
  [[nodiscard]] bool has(event_key key) const;
  /// Whether the event is known with another mark. False if its mark is forgotten.
  [[nodiscard]] bool has_another(event_key key, std::uint32_t mark) const;
  /// Call it when the spill number is used for a new spill.
  void forget(std::uint32_t spill);

  [[nodiscard]] static std::size_t memory_plan(std::uint32_t max_events_per_spill,
                                               std::size_t marks);

private:
  static constexpr std::uint32_t spills = l2::spill_mask + 1;

  [[nodiscard]] std::size_t bit_of(event_key key) const;
  [[nodiscard]] std::size_t range_of(event_key key) const;
  void take_page(std::size_t range);

  std::uint32_t ranges_per_spill_;     // ranges of 1024 event numbers
  std::vector<std::uint64_t> bits_;    // by spill number, then event number; see page_of_
  std::vector<std::uint32_t> marks_;   // in pages; 0: forgotten or no event
  std::vector<std::uint32_t> page_of_; // page of a range, or one of the special values
  std::vector<std::uint32_t> owners_;  // by page: the range that took it last
  std::uint32_t next_page_ = 0;        // the next one to take
};

} // namespace l3
