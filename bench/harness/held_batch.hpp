// SPDX-License-Identifier: Apache-2.0
// A batch as the receivers would leave it, in its own memory, for benches that run kernels without
// an engine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/decode/packet.hpp"
#include "gpu/memory/buffer.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/input_batch.hpp"
#include "transport/format/readout.hpp"

namespace l3::bench {

inline constexpr std::uint32_t piece_bytes = 8000; ///< as building.chunk_bytes

/// Appends a fragment, in pieces as if it came in datagrams, and enters it. Its boards, which the
/// caller enters, begin behind those of the others.
fragment_entry& add_fragment(input_batch& batch, std::uint8_t crate,
                             std::span<const std::byte> content);

/// Bytes of its fragments, the basis of rates.
[[nodiscard]] std::uint64_t fragment_bytes(const input_batch& batch);

class held_batch {
public:
  held_batch(const readout& crates, std::uint32_t events);

  /// For kernels, also such as read the boards' homes without find_boards.
  [[nodiscard]] batch_view view() const;
  [[nodiscard]] batch_capacity capacity() const; ///< exactly the size of the batch
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return batch_.bytes.first(batch_.used_bytes);
  }
  [[nodiscard]] std::uint64_t fragment_bytes() const { return bench::fragment_bytes(batch_); }
  [[nodiscard]] std::uint32_t boards() const { return batch_.used_boards; }
  /// Fills a batch of the same or a larger capacity.
  void copy_to(input_batch& batch) const;

protected:
  input_batch batch_;

private:
  buffer memory_;
  std::vector<event_entry> events_;
  std::vector<fragment_entry> fragments_;
  std::vector<piece_offset> pieces_;
  std::vector<board_entry> boards_;
  mutable std::vector<board_home> homes_; ///< in views
};

} // namespace l3::bench
