// SPDX-License-Identifier: Apache-2.0
// An event as JSON for people who look at it: what the detector saw, what the selection decided,
// and why. event.js, beside this header, draws it and describes every key. Pulses and windows are
// those of the trigger's own code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "selection/trigger/load_selection.hpp"
#include "transport/format/event_key.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {

struct event_picture {
  std::uint32_t run = 0;
  event_key key;
  unsigned flags = 0; ///< event_flag
  event_payload payload = event_payload::all;
  std::optional<summary_view> summary{};
  std::string no_summary{}; ///< why it has none
  /// By number in the readout; empty if nothing of a board was kept or can be read.
  std::vector<board_waveforms> boards{};
};

/// Decodes a packed event.
[[nodiscard]] event_picture picture_of(const packed_event_view& event, std::uint32_t run,
                                       const detector& what);

/// The event, without the detector. `by` is the selection that decided, or one that fits the
/// detector; the JSON says which.
[[nodiscard]] std::string event_json(const event_picture& event, const loaded_selection& by);

/// With the detector.
[[nodiscard]] std::string event_with_detector_json(const event_picture& event,
                                                   const loaded_selection& by);

/// Places and names: the key `detector` of an event.
[[nodiscard]] std::string detector_json(const loaded_selection& by);

/// A page in one file that needs no network.
[[nodiscard]] std::string event_page(const event_picture& event, const loaded_selection& by);

extern const std::string_view event_module; ///< event.js
extern const std::string_view event_file;   ///< event.html with event.js

} // namespace l3
