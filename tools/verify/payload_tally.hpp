// SPDX-License-Identifier: Apache-2.0
// Counts the stored events with missing waveforms, by the kept part and by the lines that asked for
// it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "transport/format/payload.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {

class payload_tally {
public:
  void add(const packed_event_view& event);

  struct kept_so {
    std::uint64_t events = 0;
    std::map<std::uint32_t, std::uint64_t> by_line; ///< events by the id of lines that asked for it

    void add(const packed_event_view& event);
  };

  /// Number of events with missing waveforms.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] const kept_so& of(event_payload p) const {
    return all_[static_cast<std::size_t>(p)];
  }

private:
  std::uint64_t events_ = 0;
  std::array<kept_so, event_payloads> all_;
};

/// A checksum of everything that the event says about its waveforms: the payload table, which
/// records are kept, the pulses, and the samples of an event with missing ones. Independent of the
/// codec; 0 if no line limits the payload.
[[nodiscard]] std::uint32_t crc_of_payload(const packed_event_view& event);

/// The ids of the lines that asked for the event's payload; empty if its summary cannot be read.
[[nodiscard]] std::vector<std::uint32_t> lines_that_asked(const packed_event_view& event);

} // namespace l3
