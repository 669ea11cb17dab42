// SPDX-License-Identifier: Apache-2.0
// Puts the histograms of each spill that has ended into the output stream, as JSON behind the
// events of a block (docs/formats.md, sections 6 and 16), so that they lie in the store beside the
// events. The drain thread makes the text, once a spill: with all inputs of KOTO a few ms.
#pragma once

#include <cstdint>

#include "transport/accounting/counters.hpp"
#include "transport/histograms/histogram_set.hpp"
#include "transport/outbox/spilling_outbox.hpp"

namespace l3 {

class histogram_stream {
public:
  /// `of` has everything but the sums and the spill; `out` outlives this object.
  histogram_stream(spilling_outbox& out, histogram_set of, histogram_names names);

  // --- the drain thread ---

  /// `left_out`: events that found no room in their frame, since the spill that ended before.
  void add(std::uint32_t spill, const histogram_sums& sums, std::uint64_t left_out);
  /// Nothing comes any more. False: what waits finds no room now.
  [[nodiscard]] bool finish();
  /// What waits will find no room.
  void give_up();

  // --- any thread ---

  /// Spills whose histograms found no room.
  [[nodiscard]] std::uint64_t not_stored() const { return not_stored_; }

private:
  /// Counts them; of the first the log speaks.
  void leave_out(std::uint64_t spills);

  spilling_outbox& out_;
  histogram_set of_;
  histogram_names names_;
  counter not_stored_;
};

} // namespace l3
