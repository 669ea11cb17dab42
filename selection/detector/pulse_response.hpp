// SPDX-License-Identifier: Apache-2.0
// What the selection makes of a pulse: how its sum and its time, as
// algorithms/pulse_window.hpp has them measured, follow from its true height and the time of its
// peak. Averaged over where between two samples the peak lies, and on the 500 MHz boards over their
// pulses' lengths: there a single pulse's sum is up to 12 % off, and its time up to 5 ns, which the
// cuts of those counters allow for.
#pragma once

#include "transport/format/readout.hpp"

namespace l3 {

struct pulse_response {
  double sum = 0;  ///< counts, of a pulse of height 1
  double lead = 0; ///< ns: so long before its peak the rising edge crosses half the height
};

[[nodiscard]] pulse_response response_of(board_kind kind);

} // namespace l3
