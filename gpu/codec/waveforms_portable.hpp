// SPDX-License-Identifier: Apache-2.0
// The portable form of pack and unpack (waveforms.hpp): one record after the other, with the
// functions of koto.hpp. Processors without AVX2 use it, and the faster forms call it to find out
// which record is damaged.
#pragma once

#include <cstdlib>

#include "gpu/codec/waveforms.hpp"
#include "transport/format/l2.hpp"

namespace l3::koto::portable {

/// Aborts on programming errors: an incomplete waveform, or too little room.
inline void check_pack(std::span<const std::uint16_t> samples, std::span<std::byte> out) {
  if (samples.size() % record_samples != 0) std::abort();
  if (out.size() < max_packed_bytes(samples.size() / record_samples)) std::abort();
}

inline std::size_t pack(std::span<const std::uint16_t> samples, std::span<std::byte> out) {
  check_pack(samples, out);
  std::size_t used = 0;
  for (std::size_t i = 0; i < samples.size(); i += record_samples) {
    used += pack_record(samples.data() + i, out.data() + used);
  }
  return used;
}

/// Whether minimum + difference exceeded 16 bits in any sample.
inline bool has_wrapped(const std::uint16_t* samples, std::uint16_t minimum) {
  bool any = false;
  for (std::uint32_t i = 0; i < record_samples; ++i) any |= samples[i] < minimum;
  return any;
}

/// Unpacks the records that follow those counted in `r`.
inline unpack_result unpack(std::span<const std::byte> records, std::span<std::uint16_t> samples,
                            unpack_result r = {}) {
  if (samples.size() % record_samples != 0) std::abort();
  const std::size_t room = samples.size() / record_samples;
  while (r.records < room && r.bytes < records.size()) {
    const std::byte* const record = records.data() + r.bytes;
    std::uint16_t* const to = samples.data() + r.records * record_samples;
    const std::uint32_t used = unpack_record(record, records.size() - r.bytes, to);
    if (used == 0) {
      r.status = load<std::uint8_t>(record) > max_bits ? unpack_status::too_many_bits
                                                       : unpack_status::cut_off;
      return r;
    }
    if (has_wrapped(to, load<std::uint16_t>(record + 1))) {
      r.status = unpack_status::sample_too_large;
      return r;
    }
    std::uint16_t bits = 0; // set in any sample
    for (std::uint32_t i = 0; i < record_samples; ++i) bits |= to[i];
    r.above_payload |= bits > l2::payload_mask;
    r.bytes += used;
    ++r.records;
  }
  return r;
}

} // namespace l3::koto::portable
