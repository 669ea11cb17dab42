// SPDX-License-Identifier: Apache-2.0
// The made-up batch with a part of its boards opaque, so that some have nothing to decode, in
// memory of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/measure/memory_block.hpp"
#include "gpu/decode/packet.hpp"
#include "transport/format/input_batch.hpp"

namespace l3::bench {

class decode_batch {
public:
  /// Of every hundred boards that many are opaque.
  decode_batch(std::uint32_t events, std::uint32_t percent_opaque);

  [[nodiscard]] const batch_view& view() const { return view_; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return batch_.bytes.first(batch_.used_bytes);
  }
  [[nodiscard]] std::uint64_t fragment_bytes() const {
    return fragment_bytes_;
  } ///< what rates count

private:
  void make_opaque(board_entry& b);

  memory_block memory_;
  std::vector<event_entry> events_;
  std::vector<fragment_entry> fragments_;
  std::vector<piece_offset> pieces_;
  std::vector<board_entry> boards_;
  input_batch batch_;
  batch_view view_;
  std::uint64_t fragment_bytes_ = 0;
};

} // namespace l3::bench
