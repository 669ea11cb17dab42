// SPDX-License-Identifier: Apache-2.0
// Counts the stored events with missing waveforms, by the kept part and by the lines that asked for
// it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "selection/trigger/settings.hpp"
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

// A payload tally as JSON and as text, with line names.

// Names of trigger lines by id. Events contain only ids; the names come from the settings in the
// store, or from a given selection.

/// The names of the selection's lines by id.
[[nodiscard]] std::map<std::uint32_t, std::string> line_names(const selection_settings& selection);
/// The names from settings text in a store; empty if it is no selection of this version.
[[nodiscard]] std::map<std::uint32_t, std::string> line_names(const std::string& selection);

/// {"suppressed": {"events": 12, "lines": {"three_pi0": 10, "klpi0pi0": 2}}}, one entry per payload
/// with events. Lines without a name are shown by id.
[[nodiscard]] boost::json::object json_of(const payload_tally& t,
                                          const std::map<std::uint32_t, std::string>& names);
/// "12 events are suppressed, by line three_pi0 (10), klpi0pi0 (2)", one text per entry.
[[nodiscard]] std::vector<std::string> payload_words(const boost::json::object& tally);
/// "is suppressed by line three_pi0: not all its waveforms were kept", for an event that is not
/// whole; without lines if none are given.
[[nodiscard]] std::string why_not_whole(const packed_event_view& event,
                                        const std::vector<std::string>& lines = {});

} // namespace l3
