// SPDX-License-Identifier: Apache-2.0
// The boards and waveforms of a whole fragment, for people. It shares no code with the decoding
// kernels and follows docs/formats.md, sections 1 and 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

struct board_samples {
  std::uint8_t slot = 0;
  board_kind kind = board_kind::sampling_125_mhz;
  bool opaque = false;
  std::uint32_t time = 0;                           ///< 28 bits, 8 ns
  std::uint16_t trigger = 0;                        ///< low 14 bits of the first header word
  std::uint32_t wrong_words = 0;                    ///< samples without a sample's top bits
  std::vector<std::vector<std::uint16_t>> channels; ///< samples; empty for an opaque board
};

struct fragment_boards {
  std::optional<malformed> problem; ///< its boards are then unknown
  std::vector<board_samples> boards;
};

[[nodiscard]] fragment_boards read_boards(std::span<const std::byte> fragment,
                                          const crate_readout& crate, event_key key);

} // namespace l3
