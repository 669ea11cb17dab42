// SPDX-License-Identifier: Apache-2.0
// Finds one event, as it was sent or stored, in a level-2 file, a store, a spool, or one of their
// files. The fragments are always the original bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "selection/detector/detector.hpp"
#include "selection/display/event_picture.hpp"
#include "selection/trigger/recorded_settings.hpp"
#include "transport/accounting/counters.hpp"
#include "transport/format/block.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/payload.hpp"
#include "transport/format/readout.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {

struct wanted_event {
  event_key key;
  std::optional<std::uint32_t> run{}; ///< nothing: any run
};

struct found_fragment {
  std::uint8_t place = 0; ///< of its crate in the readout list
  std::vector<std::byte> bytes;
  std::vector<std::uint16_t> kept{}; ///< mask of each board's kept records; may be empty
};

struct found_event {
  event_key key;
  std::uint32_t run = 0;
  readout crates;
  std::vector<found_fragment> fragments;
  std::optional<recorded_settings> settings{}; ///< of its session, if these name a selection
  std::optional<block_header> block{};         ///< header of its block
  std::optional<packed_event> packed{};        ///< its header in the block
  std::vector<std::byte> stored{};             ///< as it is in the block
  std::optional<summary_view> summary{};
  std::optional<packed_payload> payload{}; ///< if lines limit the payload
  std::uint64_t more = 0;                  ///< later stored events with the same key
  bool more_of_other_runs = false;         ///< at least one of these
  bool all_read = true;                    ///< false: a part of the store or file is damaged
};

/// Reads everything that `path` names. `crates`: the readout of a store; by default the readout in
/// the event's session, or else KOTO's. Throws command_error: 69 for unreadable files, 1 for
/// another kind of file or if there is no such event.
[[nodiscard]] found_event
find_event(const std::filesystem::path& path, const wanted_event& wanted,
           const std::optional<readout>& crates,
           const std::function<void(std::uint64_t done, std::uint64_t all)>& tell);

// The boards and waveforms of an event, from its original fragments.

/// The boards and waveforms of a whole fragment, for people. It shares no code with the decoding
/// kernels and follows docs/formats.md, sections 1 and 2.
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

/// For a drawing, with the boards of crates_of.
[[nodiscard]] event_picture picture_of(const found_event& event,
                                       const std::vector<inspected_crate>& boards,
                                       const detector& what);

/// For an event without a summary.
[[nodiscard]] std::string why_no_summary(const found_event& event);

/// Numbers of the readout's crates that the event lacks.
[[nodiscard]] std::vector<std::uint8_t> missing_crates(const found_event& event);

/// The inputs of an event that `koto-l3 inspect` shows: those requested by address or detector
/// channel, or else the highest pulses.
struct inspected_channel {
  input_address at;
  std::string name; ///< "crystal 17", "CBAR module 3 end 1"; empty if unknown
  board_kind kind = board_kind::sampling_125_mhz;
  std::span<const std::uint16_t> samples; ///< valid as long as the crates
  double pedestal = 0;                    ///< the median
  std::uint16_t most = 0;
  std::size_t peak = 0; ///< index of the sample `most`

  [[nodiscard]] double height() const { return most - pedestal; }
  /// ns between two samples.
  [[nodiscard]] double step() const { return kind == board_kind::sampling_125_mhz ? 8 : 2; }
};

/// All channels in the order of the readout. Without a detector they have no names.
[[nodiscard]] std::vector<inspected_channel> channels_of(const std::vector<inspected_crate>& crates,
                                                         const detector* names);

/// The channels that `wanted` names: "11", "11/3", "11/3/0", "crystal 17", "CBAR". Throws
/// command_error if one of these names no channel.
[[nodiscard]] std::vector<inspected_channel>
chosen_channels(const std::vector<inspected_channel>& all, const std::vector<std::string>& wanted);

/// The highest ones, by falling height.
[[nodiscard]] std::vector<inspected_channel>
highest_channels(const std::vector<inspected_channel>& all, std::size_t count);

} // namespace l3
