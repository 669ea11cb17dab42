// SPDX-License-Identifier: Apache-2.0
// The KOTO record (docs/formats.md, section 5): 64 samples as their minimum and 64 differences of N
// bits each. These functions run on hosts and devices, and read and write only the bytes of the
// record.
//
// Eight differences of N bits are exactly N bytes. So the packer does not append single samples: it
// merges neighbours by shifts within 64-bit words, four to a *quad* of 4N bits and two quads to an
// *octet*, and stores octet k whole at byte k · N. No bit carries over from one octet to the next,
// and the loops vectorise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/format/endian.hpp"
#include "transport/format/l2.hpp"

namespace l3::koto {

inline constexpr std::uint32_t record_samples = l2::waveform_samples;
inline constexpr std::uint32_t record_head_bytes = 3;
inline constexpr std::uint32_t octets = record_samples / 8;
inline constexpr std::uint32_t max_bits = 16;

[[nodiscard]] L3_FN constexpr std::uint32_t record_bytes(std::uint32_t bits) {
  return record_head_bytes + octets * bits;
}
inline constexpr std::uint32_t max_record_bytes = record_head_bytes + octets * max_bits;

/// N: the number of bits for a difference up to `range` (below 65536). It has no branches and no
/// tables, so that it vectorises, and no comparisons, which compilers turn into branches.
[[nodiscard]] L3_FN constexpr std::uint32_t bits_needed(std::uint32_t range) {
  std::uint32_t bits = 0;
  for (std::uint32_t step = 8; step != 0; step /= 2) {
    const std::uint32_t does_not_fit = ((1U << step) - 1 - range) >> 31;
    const std::uint32_t more = does_not_fit * step;
    bits += more;
    range >>= more;
  }
  return bits + range; // range is 0 or 1 here
}

/// Eight differences of N bits. Their N bytes are the lowest bytes of `low`, then those of `high`.
struct octet {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Merges two quads of 4N bits. It shifts by 4N and by 64 − 4N in two steps each, because a shift
/// by 64, for N = 16 or N = 0, is undefined.
[[nodiscard]] L3_FN constexpr octet merge_quads(std::uint64_t a, std::uint64_t b,
                                                std::uint32_t bits) {
  const std::uint32_t left = 2 * bits;
  const std::uint32_t right = 32 - left;
  return {a | ((b << left) << left), (b >> right) >> right};
}

/// Writes the octet's N bytes at p, by stores that overlap each other but touch no other byte.
L3_FN inline void store_octet(std::byte* p, octet o, std::uint32_t bits) {
  if (bits > 8) {
    const std::uint32_t rest = 8 * (bits - 8); // bits of `high` in use: 8 … 64
    store(p, o.low);
    store(p + bits - 8, rest == 64 ? o.high : (o.low >> rest) | (o.high << (64 - rest)));
  } else if (bits >= 4) {
    store(p, static_cast<std::uint32_t>(o.low));
    store(p + bits - 4, static_cast<std::uint32_t>(o.low >> (8 * (bits - 4))));
  } else if (bits >= 2) {
    store(p, static_cast<std::uint16_t>(o.low));
    store(p + bits - 2, static_cast<std::uint16_t>(o.low >> (8 * (bits - 2))));
  } else if (bits == 1) {
    store(p, static_cast<std::uint8_t>(o.low));
  }
}

/// The octet in the N bytes at p; it reads no other byte.
[[nodiscard]] L3_FN inline octet load_octet(const std::byte* p, std::uint32_t bits) {
  if (bits > 8) {
    const std::uint32_t rest = 8 * (bits - 8);
    const auto last = load<std::uint64_t>(p + bits - 8);
    return {load<std::uint64_t>(p), last >> (64 - rest)};
  }
  if (bits >= 4) {
    const std::uint64_t last = load<std::uint32_t>(p + bits - 4);
    return {load<std::uint32_t>(p) | (last << (8 * (bits - 4))), 0};
  }
  if (bits >= 2) {
    const std::uint64_t last = load<std::uint16_t>(p + bits - 2);
    return {load<std::uint16_t>(p) | (last << (8 * (bits - 2))), 0};
  }
  return {bits == 1 ? load<std::uint8_t>(p) : 0U, 0};
}

L3_FN inline void store_head(std::byte* p, std::uint32_t bits, std::uint32_t minimum) {
  store(p, static_cast<std::uint8_t>(bits));
  store(p + 1, static_cast<std::uint8_t>(minimum));
  store(p + 2, static_cast<std::uint8_t>(minimum >> 8));
}

/// Merges four adjacent 16-bit differences of a word to a quad.
[[nodiscard]] L3_FN constexpr std::uint64_t merge_lanes(std::uint64_t x, std::uint32_t bits) {
  const std::uint64_t pairs =
      (x & 0x0000ffff0000ffffU) | ((x & 0xffff0000ffff0000U) >> (16 - bits));
  return (pairs & 0xffffffffU) | ((pairs >> 32) << (2 * bits));
}

/// Splits a quad into four 16-bit differences; it ignores the bits of x above the quad.
[[nodiscard]] L3_FN constexpr std::uint64_t split_lanes(std::uint64_t x, std::uint32_t bits) {
  const std::uint64_t pair_mask = (std::uint64_t{1} << (2 * bits)) - 1;
  const std::uint64_t lane_mask = ((std::uint64_t{1} << bits) - 1) * 0x0000000100000001U;
  const std::uint64_t pairs = (x & pair_mask) | (((x >> (2 * bits)) & pair_mask) << 32);
  return (pairs & lane_mask) | ((pairs << (16 - bits)) & (lane_mask << 16));
}

/// Packs 64 samples to `out`, which has room for max_record_bytes; returns the record's length.
L3_FN inline std::uint32_t pack_record(const std::uint16_t* samples, std::byte* out) {
  std::uint16_t low = samples[0];
  std::uint16_t high = samples[0];
  for (std::uint32_t i = 1; i < record_samples; ++i) {
    low = samples[i] < low ? samples[i] : low;
    high = samples[i] > high ? samples[i] : high;
  }
  const std::uint32_t bits = bits_needed(static_cast<std::uint32_t>(high - low));
  store_head(out, bits, low);

  const std::uint64_t minima =
      low * 0x0001000100010001U; // no sample is smaller, so no difference borrows from the next
  std::uint64_t quads[2 * octets];
  for (std::uint32_t i = 0; i < 2 * octets; ++i) {
    std::uint64_t x;
    memcpy(&x, samples + 4 * i, sizeof x);
    quads[i] = merge_lanes(x - minima, bits);
  }
  for (std::uint32_t k = 0; k < octets; ++k) {
    store_octet(out + record_head_bytes + k * bits,
                merge_quads(quads[2 * k], quads[2 * k + 1], bits), bits);
  }
  return record_bytes(bits);
}

/// Unpacks the record at `in`, which has `available` bytes, to 64 samples. Returns the record's
/// length, or 0 without writing if the record is truncated or its N is above 16.
[[nodiscard]] L3_FN inline std::uint32_t unpack_record(const std::byte* in, std::size_t available,
                                                       std::uint16_t* samples) {
  if (available < record_head_bytes) return 0;
  const std::uint32_t bits = load<std::uint8_t>(in);
  if (bits > max_bits || available < record_bytes(bits)) return 0;
  const auto minimum = load<std::uint16_t>(in + 1);

  std::uint64_t quads[2 * octets];
  for (std::uint32_t k = 0; k < octets; ++k) {
    const octet o = load_octet(in + record_head_bytes + k * bits, bits);
    const std::uint32_t left = 32 - 2 * bits;
    quads[2 * k] = o.low;
    quads[2 * k + 1] = ((o.low >> (2 * bits)) >> (2 * bits)) | ((o.high << left) << left);
  }
  for (std::uint32_t i = 0; i < 2 * octets; ++i) quads[i] = split_lanes(quads[i], bits);
  memcpy(samples, quads, sizeof quads);
  for (std::uint32_t i = 0; i < record_samples; ++i) {
    samples[i] = static_cast<std::uint16_t>(samples[i] + minimum);
  }
  return record_bytes(bits);
}

} // namespace l3::koto
