// SPDX-License-Identifier: Apache-2.0
// The events that were admitted, of all 512 spill numbers: senders send records again that were not
// acknowledged, and the daemon takes each event once. It remembers a bit of each event, and of the
// latest millions a mark: 32 bits made of the digests of the event's fragments
// (fragment_index.hpp). A record that comes under the same numbers with another mark is another
// event. Guarded by the event builder's lock.
//
// The marks lie in pages, each for 1024 event numbers of a spill. All memory is taken at the start.
// When every page is in use, the one that was taken first is used again, and the marks in it are
// forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/format/event_key.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

/// Sums up an event. The order in which its fragments are added does not matter.
class event_digest {
public:
  /// `digest` of the fragment of the crate at this place of the readout list.
  void add(std::uint32_t crate, std::uint64_t digest);
  [[nodiscard]] std::uint32_t mark() const; ///< never 0

private:
  std::uint64_t sum_ = 0;
};

class known_events {
public:
  /// With room for so many marks, rounded to whole pages.
  known_events(std::uint32_t max_events_per_spill, std::size_t marks);

  /// `mark` is of the fragments that were taken.
  void add(event_key key, std::uint32_t mark);
  [[nodiscard]] bool has(event_key key) const;
  /// It has the event, with another mark. False if the mark is forgotten.
  [[nodiscard]] bool has_another(event_key key, std::uint32_t mark) const;
  /// The spill number stands for another spill from now on.
  void forget(std::uint32_t spill);

  [[nodiscard]] static std::size_t memory_plan(std::uint32_t max_events_per_spill,
                                               std::size_t marks);

private:
  static constexpr std::uint32_t spills = l2::spill_mask + 1;

  [[nodiscard]] std::size_t bit_of(event_key key) const;
  [[nodiscard]] std::size_t range_of(event_key key) const;
  void take_page(std::size_t range);

  std::uint32_t ranges_per_spill_;     // of 1024 event numbers each
  std::vector<std::uint64_t> bits_;    // by spill number, then event number; see page_of_
  std::vector<std::uint32_t> marks_;   // in pages; 0: forgotten, or of no event
  std::vector<std::uint32_t> page_of_; // of a range of a spill, or that it has no event, or no page
  std::vector<std::uint32_t> owners_;  // of a page: the range that took it last
  std::uint32_t next_page_ = 0;        // to be taken
};

} // namespace l3
