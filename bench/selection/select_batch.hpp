// SPDX-License-Identifier: Apache-2.0
// A batch of simulated events of the usual mix, as the receivers would leave it: what the selection
// is measured with. Made-up waveforms would not do, since the time that clusters and hits take
// depends on how many there are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/measure/memory_block.hpp"
#include "gpu/decode/packet.hpp"
#include "selection/detector/detector.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/input_batch.hpp"

namespace l3::bench {

class select_batch {
public:
  /// The same each time. Each fragment lies in pieces, as one that came in datagrams does.
  select_batch(const detector& d, std::uint32_t events);

  [[nodiscard]] const batch_view& view() const { return view_; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return batch_.bytes.first(batch_.used_bytes);
  }
  [[nodiscard]] std::uint64_t fragment_bytes() const; ///< what rates count

private:
  void add(const readout& crates, event_key key, std::span<const std::byte> event);
  void add_fragment(const readout& crates, std::uint8_t crate, event_key key,
                    std::span<const std::byte> content, event_entry& event);

  memory_block memory_;
  std::vector<event_entry> events_;
  std::vector<fragment_entry> fragments_;
  std::vector<piece_offset> pieces_;
  std::vector<board_entry> boards_;
  input_batch batch_;
  batch_view view_;
};

} // namespace l3::bench
