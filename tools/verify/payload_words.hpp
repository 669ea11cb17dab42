// SPDX-License-Identifier: Apache-2.0
// A payload tally for people and for machines, with the lines' names.
#pragma once

#include <string>
#include <vector>

#include <boost/json.hpp>

#include "tools/verify/payload_tally.hpp"

namespace l3 {

/// "12 events are suppressed, by line three_pi0 (10), klpi0pi0 (2)", a text for each payload that
/// some event has. Lines of the selections that are shipped have their names, others their ids.
[[nodiscard]] std::vector<std::string> payload_words(const payload_tally& t);
[[nodiscard]] boost::json::object json_of(const payload_tally& t);

} // namespace l3
