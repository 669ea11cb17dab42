// SPDX-License-Identifier: Apache-2.0
// The portable form of encode and decode (strong_groups.hpp): one group after the other, with the
// functions of strong.hpp.
#pragma once

#include <cstdlib>

#include "gpu/codec/strong_groups.hpp"

namespace l3::strong::portable {

/// Aborts on programming errors: an incomplete group, or too little room.
inline void check_encode(std::span<const std::uint16_t> samples, std::span<std::byte> out) {
  if (samples.size() % group_samples != 0) std::abort();
  if (out.size() < max_encoded_bytes(samples.size() / group_samples)) std::abort();
}
inline void check_decode(std::span<std::uint16_t> samples) {
  if (samples.size() % group_samples != 0) std::abort();
}

inline std::size_t encode(std::span<const std::uint16_t> samples, shape of,
                          std::span<std::byte> out) {
  check_encode(samples, out);
  std::size_t used = 0;
  for (std::size_t i = 0; i < samples.size(); i += group_samples)
    used += encode_group(samples.data() + i, of, out.data() + used);
  return used;
}

inline decode_result decode(std::span<const std::byte> groups, shape of,
                            std::span<std::uint16_t> samples) {
  check_decode(samples);
  const std::size_t room = samples.size() / group_samples;
  decode_result r;
  while (r.groups < room && r.bytes < groups.size()) {
    const std::byte* const in = groups.data() + r.bytes;
    const std::uint32_t bytes = group_bytes(in, groups.size() - r.bytes);
    if (bytes == 0 || !decode_group(in, bytes, of, samples.data() + r.groups * group_samples)) {
      r.damaged = true;
      return r;
    }
    r.bytes += bytes;
    ++r.groups;
  }
  return r;
}

} // namespace l3::strong::portable
