// SPDX-License-Identifier: Apache-2.0
// Puts the histograms of each ended spill into the output stream, as JSON behind the events of a
// block (docs/formats.md, sections 6 and 16). So the store holds them beside the events. The drain
// thread writes the text once per spill, which takes a few ms with all inputs of KOTO.
#pragma once

#include <cstdint>

#include "transport/accounting/counters.hpp"
#include "transport/histograms/histogram_set.hpp"
#include "transport/outbox/spilling_outbox.hpp"

namespace l3 {

class histogram_stream {
public:
  /// `of` is complete except for the sums and the spill. `out` outlives this object.
  histogram_stream(spilling_outbox& out, histogram_set of, histogram_names names);

  // --- the drain thread ---

  /// `left_out`: events that found no room in their frame since the previous spill ended.
  void add(std::uint32_t spill, const histogram_sums& sums, std::uint64_t left_out);
  /// Call it when no more histograms come. Returns false if the waiting text finds no room now.
  [[nodiscard]] bool finish();
  /// Counts the waiting histograms as not stored.
  void give_up();

  // --- any thread ---

  /// Number of spills whose histograms found no room.
  [[nodiscard]] std::uint64_t not_stored() const { return not_stored_; }

private:
  /// Counts them and logs the first.
  void leave_out(std::uint64_t spills);

  spilling_outbox& out_;
  histogram_set of_;
  histogram_names names_;
  counter not_stored_;
};

} // namespace l3
