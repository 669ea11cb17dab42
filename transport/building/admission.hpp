// SPDX-License-Identifier: Apache-2.0
// The end of event building: judges an event whose fragments have arrived or are given up, counts
// it, and writes it into the tables of a batch. Every fragment is counted under exactly one name;
// `seen` is counted elsewhere, so that `seen = admitted + incomplete + malformed + late +
// duplicate` is a check and not a definition. All events pass through here, from datagrams and from
// records.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/building/arrived_chunk.hpp"
#include "transport/building/fragment_index.hpp"
#include "transport/building/known_events.hpp"
#include "transport/building/settings.hpp"
#include "transport/format/input_batch.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// A fragment of an ending event.
struct arrived_fragment {
  std::uint8_t crate = 0;           ///< place in the readout list
  bool whole = false;               ///< all its bytes have arrived
  std::optional<malformed> problem; ///< found before or while its bytes are read
  fragment_pieces where; ///< of a whole fragment; memory = nullptr: its bytes were not kept
  std::span<const std::uint16_t> slots_of_chunks; ///< of a whole fragment that came in chunks
  fragment_sums sums;                             ///< of its chunks

  [[nodiscard]] std::uint32_t number_of_pieces() const {
    return (where.bytes + where.piece_bytes - 1) / where.piece_bytes;
  }

  // Filled in by admission.
  std::uint32_t first_board = 0; ///< in the candidate's list; unused for a plain fragment
  std::uint16_t boards = 0;
  std::uint16_t slots = 0; ///< of the boards of a plain fragment
  board_kind kind{};
  std::optional<std::uint32_t> time; ///< stamp of the first board that has one
};

/// An ending event. Reuse one for many events: it then allocates nothing.
struct candidate_event {
  explicit candidate_event(const building_settings& settings)
      : boards(settings.crates.boards()), own_pieces(settings.crates.size()) {
    fragments.reserve(settings.crates.size());
  }

  event_key key{};
  std::vector<arrived_fragment> fragments; ///< sorted by crate
  std::vector<board_entry> boards;         ///< of walked fragments: the first `used_boards`
  std::uint32_t used_boards = 0;
  std::uint32_t flags = 0;
  std::optional<std::uint32_t> reference_time;
  event_digest digest; ///< of the bytes of all fragments, for known_events

  std::vector<piece_offset> own_pieces; ///< by crate, the offsets of contiguous fragments
};

class admission {
public:
  struct verdict {
    bool complete = false; ///< every crate's fragment is whole and good
    bool admit = false;    ///< complete, or forwarded although incomplete
  };

  admission(const building_settings& settings, building_counters& counters)
      : settings_(settings), counters_(counters) {}

  /// Finds boards and problems of the fragments. Any thread.
  void look_into(candidate_event& event) const;
  /// Judges the event after look_into(), and counts it and its fragments.
  verdict judge(candidate_event& event);
  /// Writes the whole fragments of the admitted event into the tables of the batch, which must have
  /// room and hold their pieces. A fragment with a problem becomes raw bytes.
  static void write(const candidate_event& event, time_point now, input_batch& batch);

private:
  void look_into(candidate_event& event, arrived_fragment& f) const;
  void count_missing(const candidate_event& event);

  const building_settings& settings_;
  building_counters& counters_;
};

} // namespace l3
