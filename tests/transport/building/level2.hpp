// SPDX-License-Identifier: Apache-2.0
// Makes the electronics' datagrams, byte by byte from docs/formats.md, for the tests of the input.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/format/event_key.hpp"
#include "transport/format/readout.hpp"

namespace l3::test {

using bytes = std::vector<std::byte>;

inline void put16(bytes& to, std::uint32_t word) {
  to.push_back(static_cast<std::byte>(word >> 8 & 0xff));
  to.push_back(static_cast<std::byte>(word & 0xff));
}

inline void put32(bytes& to, std::uint32_t word) {
  put16(to, word >> 16);
  put16(to, word & 0xffff);
}

struct board_recipe {
  std::uint32_t slot = 3;
  std::uint32_t time = 1000;
  std::optional<std::uint32_t> opaque_samples; ///< words of a board that compressed its samples
  std::uint32_t compression_words = 0;
};

inline bytes make_board(event_key key, const board_recipe& r) {
  bytes b;
  put16(b, 0xc000);
  put16(b, r.opaque_samples ? 0xe000 : 0xc000);
  put16(b, 0xc000 | (r.time >> 14 & 0x3fff));
  put16(b, 0xc000 | (r.time & 0x3fff));
  put16(b, 0xc000 | (key.spill & 0xff) << 6 | (key.spill >> 8 & 1) << 5 | r.slot);
  put16(b, 0xc000 | (key.number & 0x3fff));
  for (std::uint32_t w = 0; w < r.compression_words; ++w) put16(b, 0xc000 | w);
  const std::uint32_t samples = r.opaque_samples.value_or(1024);
  std::uint32_t noise = key.spill * 7919 + key.number * 104729 + r.slot * 31 + 1;
  for (std::uint32_t s = 0; s < samples; ++s) {
    noise = noise * 1664525 + 1013904223;
    put16(b, 0x8000 | (noise >> 18));
  }
  for (std::uint32_t w = 0; w < 6; ++w) put16(b, 0x6000 | w);
  if (samples % 2 != 0) put16(b, 0);
  return b;
}

inline bytes make_fragment(event_key key, const std::vector<board_recipe>& boards) {
  bytes f;
  put32(f, 0x3c000000 | (key.number & 0x3fff));
  for (const auto& b : boards) {
    const auto packet = make_board(key, b);
    f.insert(f.end(), packet.begin(), packet.end());
  }
  put32(f, 0x24000000);
  return f;
}

/// A fragment of full boards, different for each crate.
inline bytes make_fragment(event_key key, std::uint32_t place, const crate_readout& crate) {
  std::vector<board_recipe> boards;
  for (std::uint32_t b = 0; b < crate.boards; ++b)
    boards.push_back({3 + b, 1000 * key.number + place, {}, 0});
  return make_fragment(key, boards);
}

struct wire_datagram {
  std::uint32_t fragment_id = 0;
  std::uint32_t chunk = 0;
  std::uint32_t discriminator = 0;
  bytes payload;

  [[nodiscard]] bytes on_the_wire() const {
    bytes b;
    put32(b, fragment_id);
    put32(b, chunk);
    put32(b, discriminator);
    b.insert(b.end(), payload.begin(), payload.end());
    return b;
  }
};

inline std::uint32_t discriminator(std::uint32_t count, std::uint32_t spill, std::uint32_t crate) {
  return count << 17 | spill << 8 | crate;
}

/// A fragment as datagrams: its chunks, then its trailer.
inline std::vector<wire_datagram> datagrams_of(const bytes& fragment, event_key key,
                                               std::uint32_t place, const readout& crates,
                                               std::uint32_t chunk_bytes) {
  const std::uint32_t id = crates.size() * (key.number - 1) + place + 1;
  std::vector<wire_datagram> all;
  for (std::size_t at = 0; at < fragment.size(); at += chunk_bytes) {
    const auto end = std::min<std::size_t>(at + chunk_bytes, fragment.size());
    all.push_back({id, static_cast<std::uint32_t>(all.size()), 0,
                   bytes(fragment.begin() + static_cast<std::ptrdiff_t>(at),
                         fragment.begin() + static_cast<std::ptrdiff_t>(end))});
  }
  all.push_back({id,
                 static_cast<std::uint32_t>(all.size()),
                 discriminator(0, key.spill, crates.crates[place].number),
                 {}});
  return all;
}

inline std::vector<wire_datagram> datagrams_of(event_key key, const readout& crates,
                                               std::uint32_t chunk_bytes) {
  std::vector<wire_datagram> all;
  for (std::uint32_t c = 0; c < crates.size(); ++c) {
    const auto one =
        datagrams_of(make_fragment(key, c, crates.crates[c]), key, c, crates, chunk_bytes);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

inline wire_datagram end_of_spill(std::uint32_t spill, std::uint32_t crate_number,
                                  std::uint32_t count, std::uint32_t part = 0,
                                  std::uint32_t parts = 1) {
  return {part, parts, discriminator(count, spill, crate_number), {}};
}

inline std::vector<wire_datagram> operator+(std::vector<wire_datagram> a,
                                            const std::vector<wire_datagram>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Three crates, two boards each: small enough to throw many events.
inline readout small_readout() {
  return {{{4, 2, board_kind::sampling_125_mhz},
           {7, 2, board_kind::sampling_125_mhz},
           {15, 2, board_kind::sampling_500_mhz}}};
}

} // namespace l3::test
