// SPDX-License-Identifier: Apache-2.0
// The end of event building: judges an event whose fragments have arrived or are given up, counts
// it, and writes it into the tables of a batch. It counts every fragment under exactly one name.
// `seen` is counted elsewhere, so that the sum `seen = admitted + incomplete + malformed + late +
// duplicate + conflicting` is a check and not a definition. Guarded by the event builder's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/building/fragment_index.hpp"
#include "transport/building/known_events.hpp"
#include "transport/building/settings.hpp"
#include "transport/format/input_batch.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// A fragment of an event that ends now.
struct arrived_fragment {
  std::uint8_t crate = 0;           ///< place in the readout list
  bool whole = false;               ///< all its bytes are here
  std::optional<malformed> problem; ///< known before its bytes are looked at, or found in them
  fragment_pieces where; ///< of a whole fragment; memory = nullptr: its bytes were not kept

  // Filled in by admission::judge().
  enum class carried : std::uint8_t { no, as_boards, raw } form = carried::no;
  std::uint32_t first_board = 0;
  std::uint16_t boards = 0;
};

class admission {
public:
  struct verdict {
    bool complete = false; ///< every crate's fragment is whole and good
    bool admit = false;    ///< complete, or forwarded although it is not
    std::uint32_t flags = 0;
    std::uint32_t reference_time = 0;
    std::uint32_t mark = 0; ///< of the event's bytes, for known_events
  };

  admission(const building_settings& settings, building_counters& counters);

  /// Looks into the fragments (in rising crate order), and counts them and the event.
  verdict judge(event_key key, std::span<arrived_fragment> fragments);

  /// The mark that judge() gives the event, if it came before with the same bytes. Counts nothing.
  [[nodiscard]] std::uint32_t mark_of(event_key key, std::span<const arrived_fragment> fragments);

  /// Writes the event that was judged last. The pieces of its fragments lie in the batch; its
  /// tables have room.
  void write(event_key key, const verdict& v, std::span<const arrived_fragment> fragments,
             time_point now, input_batch& batch) const;

private:
  void look_into(event_key key, arrived_fragment& f, verdict& v, event_digest& digest);
  void count(const arrived_fragment& f, const verdict& v);

  const building_settings& settings_;
  building_counters& counters_;
  std::vector<board_entry> boards_; // boards of the event that was judged last
  std::uint32_t used_boards_ = 0;
  bool timed_ = false;
};

} // namespace l3
