// SPDX-License-Identifier: Apache-2.0
// What a person is told to do about the worst trouble of a receiver: one sentence for its page, its
// /status and its /readyz.
#pragma once

#include <string>

#include "tools/receive/receive_snapshot.hpp"

namespace l3 {

/// "event 17 of spill 5".
[[nodiscard]] std::string event_in_words(const event_key& event);

/// What is wrong most, and what to do; empty: nothing.
[[nodiscard]] std::string advice(const receive_snapshot& s);

} // namespace l3
