// SPDX-License-Identifier: Apache-2.0
// The crates of the readout in the order of the electronics' list, and their kind of boards.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/format/l2.hpp"

namespace l3 {

enum class board_kind : std::uint8_t {
  sampling_125_mhz = 0, ///< 16 channels × 64 samples
  sampling_500_mhz = 1, ///< 4 channels × 256 samples
};

struct crate_readout {
  std::uint8_t number = 0; ///< crate number in the electronics
  std::uint8_t boards = l2::max_boards;
  board_kind kind = board_kind::sampling_125_mhz;

  friend bool operator==(const crate_readout&, const crate_readout&) = default;
};

/// The crates in the order of the fragment id; every complete event has one fragment of each.
struct readout {
  std::vector<crate_readout> crates;

  friend bool operator==(const readout&, const readout&) = default;

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(crates.size()); }

  [[nodiscard]] std::uint32_t boards() const {
    std::uint32_t n = 0;
    for (const auto& c : crates) n += c.boards;
    return n;
  }

  /// Length of the fragments of an event whose boards are all full.
  [[nodiscard]] std::size_t event_bytes() const {
    std::size_t n = 0;
    for (const auto& c : crates) n += l2::fragment_bytes(c.boards);
    return n;
  }

  /// KOTO's readout: 18 crates, 284 boards, 588 592 bytes per event.
  [[nodiscard]] static readout koto();
};

inline readout readout::koto() {
  readout r;
  for (std::uint8_t c = 0; c < 18; ++c) {
    r.crates.push_back({c, static_cast<std::uint8_t>(c == 11 ? 12 : 16),
                        c < 15 ? board_kind::sampling_125_mhz : board_kind::sampling_500_mhz});
  }
  return r;
}

} // namespace l3
