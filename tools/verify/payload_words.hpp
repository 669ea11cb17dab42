// SPDX-License-Identifier: Apache-2.0
// A payload tally for machines and for people, with the lines' names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "tools/verify/payload_tally.hpp"

namespace l3 {

/// {"suppressed": {"events": 12, "lines": {"three_pi0": 10, "klpi0pi0": 2}}}, an entry for each
/// payload that some event has. Lines without a name here are called by their ids.
[[nodiscard]] boost::json::object json_of(const payload_tally& t,
                                          const std::map<std::uint32_t, std::string>& names);
/// "12 events are suppressed, by line three_pi0 (10), klpi0pi0 (2)", a text for each entry.
[[nodiscard]] std::vector<std::string> payload_words(const boost::json::object& tally);
/// "is suppressed by line three_pi0: not all its waveforms were kept", of an event that is not
/// whole; without its lines if none are named.
[[nodiscard]] std::string why_not_whole(const packed_event_view& event,
                                        const std::vector<std::string>& lines = {});

} // namespace l3
