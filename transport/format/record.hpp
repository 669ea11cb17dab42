// SPDX-License-Identifier: Apache-2.0
// The record stream: level-2 data over TCP and in .l2raw files (docs/formats.md, section 4). Packed
// structs in the layout of the stream; transport/file and transport/input read and check them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace l3 {

inline constexpr std::array<char, 4> record_magic{'K', 'L', '3', 'R'};
inline constexpr std::uint8_t record_version = 1;
inline constexpr std::uint32_t max_record_body = 64U << 20;

enum class record_type : std::uint8_t {
  begin_of_spill = 1,
  event = 2,
  end_of_spill = 3,
  hello = 4,
  acknowledgement = 5,
  refusal = 6,
};

struct record_header {
  std::array<char, 4> magic = record_magic;
  std::uint8_t version = record_version;
  record_type type = record_type::event;
  std::uint16_t reserved = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t spill = 0;
  std::uint64_t sequence = 0;
  std::uint32_t body_crc = 0;
  std::uint32_t header_crc = 0; ///< of the 28 bytes before it
};
static_assert(sizeof(record_header) == 32);

struct hello_body { // followed by one hello_crate per crate
  std::uint32_t run = 0;
  std::uint32_t crates = 0;
};
static_assert(sizeof(hello_body) == 8);

struct hello_crate {
  std::uint8_t number = 0;
  std::uint8_t boards = 0;
  std::uint8_t kind = 0;
  std::uint8_t reserved = 0;
};
static_assert(sizeof(hello_crate) == 4);

struct begin_of_spill_body {
  std::uint64_t beam_on = 0; ///< ns
  std::uint64_t reserved = 0;
};
static_assert(sizeof(begin_of_spill_body) == 16);

struct event_body { // followed by one event_fragment per fragment, then the fragments
  std::uint32_t number = 0;
  std::uint32_t fragments = 0;
  std::uint64_t since_spill = 0; ///< ns
};
static_assert(sizeof(event_body) == 16);

struct event_fragment {
  std::uint16_t crate = 0; ///< place in the hello's list
  std::uint16_t reserved = 0;
  std::uint32_t bytes = 0;
};
static_assert(sizeof(event_fragment) == 8);

struct end_of_spill_body {
  std::uint32_t events = 0;
  std::uint32_t reserved = 0;
  std::uint64_t cycle = 0; ///< ns, from one spill begin to the next
};
static_assert(sizeof(end_of_spill_body) == 16);

struct acknowledgement_body {
  std::uint64_t sequence = 0;
  std::uint64_t known = 0; ///< repeated events among the connection's records up to it
};
static_assert(sizeof(acknowledgement_body) == 16);

/// The only refusal after which a sender retries.
inline constexpr std::string_view no_place_left =
    "there are as many connections as the daemon takes";

} // namespace l3
