// SPDX-License-Identifier: Apache-2.0
// Output blocks, packed events, messages of the output link, the head of a store file
// (docs/formats.md, sections 6 to 9). Structs in the layout of the stream; usable in device code.
#pragma once

#include <array>
#include <cstdint>

namespace l3 {

enum class codec_id : std::uint8_t {
  koto = 1,   ///< docs/formats.md, section 5
  strong = 2, ///< likewise
};

/// A block of version 2 has the settings of its selection after its events (docs/formats.md,
/// section 6). Both ends refuse longer settings.
inline constexpr std::uint32_t max_settings_bytes = 1U << 20;

struct block_header {
  std::array<char, 4> magic{'K', 'L', '3', 'B'};
  std::uint8_t version = 1; ///< 2: with settings
  codec_id codec = codec_id::koto;
  std::uint16_t reserved = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t events = 0;
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;
  std::uint32_t run = 0;
  std::uint32_t node = 0;
  std::uint64_t sealed_at = 0; ///< ns since 1970-01-01 UTC
  std::uint32_t repeated =
      0; ///< events that a receiver left out because another session had stored them
  std::uint32_t settings_bytes = 0; ///< at the end of the payload; version 1 has no settings
  std::uint32_t payload_crc = 0;
  std::uint32_t header_crc = 0; ///< of the 60 bytes before it
};
static_assert(sizeof(block_header) == 64);
inline constexpr std::uint32_t max_block_payload = 1U << 30;

enum event_flag : std::uint16_t {
  event_incomplete = 1, ///< a crate of the readout, or a board of it, is missing
  event_damaged = 2,    ///< a fragment or board is stored raw because it could not be decoded
  event_opaque = 4,     ///< a board compressed its samples
};

/// The part of an event's waveforms that is kept, from most to least
/// (transport/format/payload.hpp).
enum class event_payload : std::uint8_t { all, suppressed, features, summary, count_ };
inline constexpr std::uint32_t event_payloads = static_cast<std::uint32_t>(event_payload::count_);

/// Followed by the fragment table, the board table, the summary, the payload table, the data.
struct packed_event {
  std::uint32_t bytes = 0; ///< including header and padding
  std::uint32_t spill = 0;
  std::uint32_t number = 0;
  std::uint16_t flags = 0;
  std::uint16_t fragments = 0;
  std::uint32_t boards = 0;
  std::uint32_t reference_time = 0;
  std::uint32_t summary_bytes = 0;
  std::uint8_t version = 0;                   ///< 1: a payload table follows the summary
  event_payload payload = event_payload::all; ///< the part of its waveforms that is kept
  std::uint16_t payload_bytes = 0;            ///< of the payload table
};
static_assert(sizeof(packed_event) == 32);

enum class fragment_form : std::uint8_t { boards = 0, raw = 1 };

struct packed_fragment {
  std::uint8_t crate = 0; ///< place in the readout list
  fragment_form form = fragment_form::boards;
  std::uint16_t boards = 0;
  std::uint32_t bytes = 0; ///< of the original data
};
static_assert(sizeof(packed_fragment) == 8);

enum board_form : std::uint8_t {
  board_256_samples = 1,
  board_header_stored = 2,
  board_footer_stored = 4,
  board_raw = 8,
  board_limited = 16,  ///< some waveforms are left out: the data begin with a mask of the kept ones
  board_features = 32, ///< of a limited board: the data end in its pulse rows
  board_strong = 64,   ///< its samples are a group of the strong codec; never of a limited board
};

struct packed_board {
  std::uint8_t slot = 0;
  std::uint8_t form = 0;
  std::uint16_t bytes = 0; ///< of its data
};
static_assert(sizeof(packed_board) == 4);

enum class link_message : std::uint8_t {
  hello = 1,
  welcome = 2,
  block = 3,
  acknowledgement = 4,
  refusal = 5,
  heartbeat = 6,
  goodbye = 7,
};

struct link_header {
  std::array<char, 4> magic{'K', 'L', '3', 'L'};
  std::uint8_t version = 1;
  link_message type = link_message::hello;
  std::uint16_t reserved = 0;
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;
  std::uint32_t credit = 0;
  std::uint32_t header_crc = 0; ///< of the 28 bytes before it
};
static_assert(sizeof(link_header) == 32);

struct link_hello_body {
  std::uint32_t run = 0;
  std::uint32_t node = 0;
};
static_assert(sizeof(link_hello_body) == 8);

/// Larger numbers are invalid: no daemon seals that many blocks.
inline constexpr std::uint64_t last_sequence = (std::uint64_t{1} << 63) - 1;

struct store_file_header {
  std::array<char, 4> magic{'K', 'L', '3', 'S'};
  std::uint8_t version = 2; ///< 1: no block of the file has settings
  std::array<std::uint8_t, 3> reserved{};
  std::uint64_t number = 0;
};
static_assert(sizeof(store_file_header) == 16);

} // namespace l3
