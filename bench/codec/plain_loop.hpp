// SPDX-License-Identifier: Apache-2.0
// The simplest implementation of KOTO records: sample by sample into an accumulator, byte by byte
// out of it. It is the baseline of the benches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/codec/koto.hpp"

namespace l3::bench {

inline std::size_t plain_pack(std::span<const std::uint16_t> samples, std::span<std::byte> out) {
  std::byte* p = out.data();
  for (std::size_t w = 0; w < samples.size(); w += koto::record_samples) {
    const auto waveform = samples.subspan(w, koto::record_samples);
    std::uint16_t low = waveform[0];
    std::uint16_t high = waveform[0];
    for (const std::uint16_t s : waveform) {
      low = std::min(low, s);
      high = std::max(high, s);
    }
    std::uint32_t bits = 0;
    while (((high - low) >> bits) != 0) ++bits;
    koto::store_head(p, bits, low);
    p += koto::record_head_bytes;
    std::uint32_t waiting = 0;
    std::uint32_t filled = 0;
    for (const std::uint16_t s : waveform) {
      waiting |= static_cast<std::uint32_t>(s - low) << filled;
      for (filled += bits; filled >= 8; filled -= 8, waiting >>= 8) {
        *p++ = static_cast<std::byte>(waiting);
      }
    }
  }
  return static_cast<std::size_t>(p - out.data());
}

/// Unpacks as many valid records as there is room for.
inline void plain_unpack(std::span<const std::byte> records, std::span<std::uint16_t> samples) {
  const std::byte* p = records.data();
  for (std::size_t w = 0; w < samples.size(); w += koto::record_samples) {
    const auto bits = std::to_integer<std::uint32_t>(p[0]);
    const auto low = load<std::uint16_t>(p + 1);
    p += koto::record_head_bytes;
    std::uint32_t waiting = 0;
    std::uint32_t filled = 0;
    for (std::uint16_t& s : samples.subspan(w, koto::record_samples)) {
      for (; filled < bits; filled += 8) waiting |= std::to_integer<std::uint32_t>(*p++) << filled;
      s = static_cast<std::uint16_t>(low + (waiting & ((1U << bits) - 1)));
      waiting >>= bits;
      filled -= bits;
    }
  }
}

} // namespace l3::bench
