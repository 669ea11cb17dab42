// SPDX-License-Identifier: Apache-2.0
// A batch of simulated events of the usual mix, as the receivers would leave it: what the selection
// is measured with. Made-up waveforms would not do, since the time that clusters and hits take
// depends on how many there are.
#pragma once

#include <cstdint>
#include <span>

#include "bench/harness/held_batch.hpp"
#include "selection/detector/detector.hpp"
#include "transport/format/event_key.hpp"

namespace l3::bench {

class select_batch : public held_batch {
public:
  /// The same each time.
  select_batch(const detector& d, std::uint32_t events);

private:
  void add(const readout& crates, event_key key, std::span<const std::byte> event);
  void enter_boards(const crate_readout& crate, event_key key, fragment_entry& f,
                    event_entry& event);
};

} // namespace l3::bench
