// SPDX-License-Identifier: Apache-2.0
// The boards and waveforms of an event, from its original fragments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/inspect/found_event.hpp"
#include "transport/accounting/counters.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

// The boards and waveforms of a whole fragment, for people. It shares no code with the decoding
// kernels and follows docs/formats.md, sections 1 and 2.

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

struct inspected_crate {
  std::uint8_t number = 0;           ///< number of the crate in the electronics
  std::uint32_t bytes = 0;           ///< of its fragment
  std::string problem;               ///< why the fragment is malformed; its boards are then unknown
  std::vector<board_samples> boards; ///< without samples of waveforms that were not kept
};

/// In the order of the readout, without crates that have no fragment.
[[nodiscard]] std::vector<inspected_crate> crates_of(const found_event& event);

/// Numbers of the readout's crates that the event lacks.
[[nodiscard]] std::vector<std::uint8_t> missing_crates(const found_event& event);

} // namespace l3
