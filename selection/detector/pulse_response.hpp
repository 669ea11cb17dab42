// SPDX-License-Identifier: Apache-2.0
// The selection's response to a pulse: the relation of its measured sum and time
// (algorithms/pulse_window.hpp) to its true height and peak time. Averaged over the peak's
// position between two samples, and on 500 MHz boards over the pulse lengths. There a single
// pulse's sum is up to 12 % off, and its time up to 5 ns, which the cuts of those counters allow
// for.
#pragma once

#include "transport/format/readout.hpp"

namespace l3 {

struct pulse_response {
  double sum = 0;  ///< counts, for a pulse of height 1
  double lead = 0; ///< ns from half height on the rising edge to the peak
};

[[nodiscard]] pulse_response response_of(board_kind kind);

} // namespace l3
