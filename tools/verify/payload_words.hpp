// SPDX-License-Identifier: Apache-2.0
// A payload tally as JSON and as text, with line names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "tools/verify/payload_tally.hpp"

namespace l3 {

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
