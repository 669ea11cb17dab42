// SPDX-License-Identifier: Apache-2.0
// Reads and writes records of the record stream (docs/formats.md, section 4), for files and
// connections. A fault of a record is a value (`refused`); functions that return
// std::optional<refused> return nothing for a valid record. No type here owns the bytes that it
// reads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/format/readout.hpp"
#include "transport/format/record.hpp"

namespace l3 {

/// A fragment and the place of its crate in the readout list.
struct crate_fragment {
  std::uint16_t crate = 0;
  std::span<const std::byte> bytes;
};

/// The parsed body of an event record. Reuse one for many events: it then allocates nothing.
struct event_view {
  std::uint32_t number = 0;
  std::chrono::nanoseconds since_spill{};
  std::vector<crate_fragment> fragments;
};

/// The body of a hello record.
struct hello {
  std::uint32_t run = 0;
  readout crates;
};

/// Checks a header without its body: magic, version, checksum, type, a length that fits the type.
[[nodiscard]] std::optional<refused> check_header(const record_header& header);

/// Checks length and checksum of the body.
[[nodiscard]] std::optional<refused> check_body(const record_header& header,
                                                std::span<const std::byte> body);

[[nodiscard]] std::optional<refused> parse_hello(std::span<const std::byte> body, hello& out);

/// Checks the fragment table: places within `crates`, each at most once, no fragment longer than
/// the longest possible, and lengths that add up to the body. An event may lack fragments; their
/// content is not checked.
[[nodiscard]] std::optional<refused> parse_event(std::span<const std::byte> body,
                                                 const readout& crates, event_view& out);

/// Length of the head and the fragment table, from which the size of an event record's body
/// follows.
[[nodiscard]] constexpr std::size_t event_table_bytes(std::size_t fragments) {
  return sizeof(event_body) + fragments * sizeof(event_fragment);
}

/// The longest event record body of a readout.
[[nodiscard]] std::size_t max_event_body(const readout& crates);

/// A header with its checksum. `body_crc` is crc32c of the body.
[[nodiscard]] record_header sealed_header(record_type type, std::uint32_t spill,
                                          std::uint64_t sequence, std::uint32_t body_bytes,
                                          std::uint32_t body_crc);

/// The body of a hello, as `parse_hello` reads it.
[[nodiscard]] std::vector<std::byte> hello_bytes(std::uint32_t run, const readout& crates);

} // namespace l3
