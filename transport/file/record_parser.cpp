// SPDX-License-Identifier: Apache-2.0
#include "transport/file/record_parser.hpp"

#include <bitset>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

constexpr std::size_t max_crates = 256; // a crate number has 8 bits

bool length_fits(const record_header& h) {
  switch (h.type) {
  case record_type::begin_of_spill: return h.body_bytes == sizeof(begin_of_spill_body);
  case record_type::event:
    return h.body_bytes >= sizeof(event_body) && h.body_bytes <= max_record_body;
  case record_type::end_of_spill: return h.body_bytes == sizeof(end_of_spill_body);
  case record_type::hello:
    return h.body_bytes > sizeof(hello_body) &&
           h.body_bytes <= sizeof(hello_body) + max_crates * sizeof(hello_crate);
  case record_type::acknowledgement: return h.body_bytes == sizeof(acknowledgement_body);
  case record_type::refusal: return h.body_bytes <= max_record_body;
  }
  return false;
}

} // namespace

std::optional<refused> check_header(const record_header& header) {
  if (header.magic != record_magic) return refused::stream_magic;
  if (header.version != record_version) return refused::stream_version;
  if (header.header_crc != header_crc(header)) return refused::stream_checksum;
  if (header.type < record_type::begin_of_spill || header.type > record_type::refusal)
    return refused::stream_content;
  if (header.spill > l2::spill_mask) return refused::stream_content;
  if (!length_fits(header)) return refused::stream_length;
  return std::nullopt;
}

std::optional<refused> check_body(const record_header& header, std::span<const std::byte> body) {
  if (body.size() != header.body_bytes) return refused::stream_length;
  if (crc32c(body) != header.body_crc) return refused::stream_checksum;
  return std::nullopt;
}

std::optional<refused> parse_hello(std::span<const std::byte> body, hello& out) {
  if (body.size() < sizeof(hello_body)) return refused::stream_length;
  const auto head = load<hello_body>(body.data());
  if (head.crates == 0 || head.crates > max_crates) return refused::stream_content;
  if (body.size() != sizeof(hello_body) + head.crates * sizeof(hello_crate))
    return refused::stream_length;

  out.run = head.run;
  out.crates.crates.clear();
  std::bitset<max_crates> named;
  for (std::size_t c = 0; c < head.crates; ++c) {
    const auto crate =
        load<hello_crate>(body.data() + sizeof(hello_body) + c * sizeof(hello_crate));
    const bool known_kind = crate.kind <= static_cast<std::uint8_t>(board_kind::sampling_500_mhz);
    if (crate.boards == 0 || crate.boards > l2::max_boards || !known_kind || named[crate.number])
      return refused::stream_content;
    named.set(crate.number);
    out.crates.crates.push_back({crate.number, crate.boards, static_cast<board_kind>(crate.kind)});
  }
  return std::nullopt;
}

std::optional<refused> parse_event(std::span<const std::byte> body, const readout& crates,
                                   event_view& out) {
  if (body.size() < sizeof(event_body)) return refused::stream_length;
  const auto head = load<event_body>(body.data());
  if (head.number == 0 || head.fragments > crates.size()) return refused::stream_content;
  std::size_t at = event_table_bytes(head.fragments);
  if (body.size() < at) return refused::stream_length;

  out.number = head.number;
  out.since_spill = std::chrono::nanoseconds(head.since_spill);
  out.fragments.clear();
  std::bitset<max_crates> seen;
  for (std::size_t f = 0; f < head.fragments; ++f) {
    const auto entry = load<event_fragment>(body.data() + event_table_bytes(f));
    if (entry.crate >= crates.size() || seen[entry.crate] || entry.bytes > l2::max_fragment_bytes)
      return refused::stream_content;
    seen.set(entry.crate);
    const std::size_t padded = round_up(entry.bytes, 4);
    if (body.size() - at < padded) return refused::stream_length;
    out.fragments.push_back({entry.crate, body.subspan(at, entry.bytes)});
    at += padded;
  }
  if (at != body.size()) return refused::stream_length;
  return std::nullopt;
}

std::size_t max_event_body(const readout& crates) {
  return event_table_bytes(crates.size()) + crates.size() * round_up(l2::max_fragment_bytes, 4);
}

record_header sealed_header(record_type type, std::uint32_t spill, std::uint64_t sequence,
                            std::uint32_t body_bytes, std::uint32_t body_crc) {
  record_header h;
  h.type = type;
  h.spill = spill;
  h.sequence = sequence;
  h.body_bytes = body_bytes;
  h.body_crc = body_crc;
  h.header_crc = header_crc(h);
  return h;
}

std::vector<std::byte> hello_bytes(std::uint32_t run, const readout& crates) {
  std::vector<std::byte> body(sizeof(hello_body) + crates.size() * sizeof(hello_crate));
  store(body.data(), hello_body{run, crates.size()});
  std::byte* p = body.data() + sizeof(hello_body);
  for (const auto& c : crates.crates) {
    store(p, hello_crate{c.number, c.boards, static_cast<std::uint8_t>(c.kind), 0});
    p += sizeof(hello_crate);
  }
  return body;
}

} // namespace l3
