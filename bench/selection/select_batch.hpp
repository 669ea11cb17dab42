// SPDX-License-Identifier: Apache-2.0
// A batch of simulated events of the usual mix, as the receivers would leave it, for measuring the
// selection. Synthetic waveforms are not enough, because the time for clusters and hits depends on
// their number.
#pragma once

#include <cstdint>
#include <span>

#include "bench/harness/held_batch.hpp"
#include "selection/detector/detector.hpp"
#include "selection/trigger/settings.hpp"
#include "transport/format/event_key.hpp"

namespace l3::bench {

class select_batch : public held_batch {
public:
  /// Always the same events for one spill.
  select_batch(const detector& d, std::uint32_t events, std::uint32_t spill = 1);

private:
  void add(const readout& crates, event_key key, std::span<const std::byte> event);
  void enter_boards(const crate_readout& crate, event_key key, fragment_entry& f,
                    event_entry& event);
};

/// Lines keep each event on which they fire as suppressed; one line fires on all events.
void suppress_all(selection_settings& s);

} // namespace l3::bench
