// SPDX-License-Identifier: Apache-2.0
// Packs many waveforms of 64 samples to contiguous KOTO records (koto.hpp), and unpacks them, with
// AVX-512 or AVX2 if the processor has it. All forms write the bytes of koto::pack_record and
// accept the records of koto::unpack_record. They read and write nothing outside the spans, and
// report a damaged record as a value, not as an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/codec/koto.hpp"

namespace l3::koto {

/// Room that pack needs for its output, however noisy the waveforms are.
[[nodiscard]] constexpr std::size_t max_packed_bytes(std::size_t waveforms) {
  return waveforms * max_record_bytes;
}

/// Packs samples.size() / 64 waveforms to the start of `out` and returns the number of bytes used.
/// Aborts unless the samples are whole waveforms and `out` has max_packed_bytes for them. It may
/// write to all of that room, and leaves garbage after the used bytes.
[[nodiscard]] std::size_t pack(std::span<const std::uint16_t> samples, std::span<std::byte> out);

enum class unpack_status : std::uint8_t {
  done,             ///< the input or the room for samples is used up
  cut_off,          ///< the input ends within a record
  too_many_bits,    ///< a record's N is above 16
  sample_too_large, ///< a record has a sample above 65535
};

struct unpack_result {
  std::size_t records = 0;    ///< number of unpacked valid records, 64 samples each
  std::size_t bytes = 0;      ///< length of these records: the next or damaged record begins here
  bool above_payload = false; ///< one of their samples exceeds the 14 bits of level 2
  unpack_status status = unpack_status::done;
};

/// Where samples go. A store that is not kept in caches does not read its cache line before: it is
/// faster for many samples that are used much later. `memory` needs an alignment of 16 bytes, or is
/// `caches`. Other threads see these samples after a fence.
enum class store_to : std::uint8_t { caches, memory };

/// Unpacks consecutive records until the input ends, `samples` is full, or a record is damaged.
/// Aborts unless `samples` has room for whole waveforms. It may write to all of `samples`, also
/// after the samples of valid records.
[[nodiscard]] unpack_result unpack(std::span<const std::byte> records,
                                   std::span<std::uint16_t> samples,
                                   store_to where = store_to::caches);

/// pack and unpack for one instruction set, so that tests and benchmarks can compare the sets.
struct waveform_codec {
  const char* name;
  std::size_t (*pack)(std::span<const std::uint16_t> samples, std::span<std::byte> out);
  unpack_result (*unpack)(std::span<const std::byte> records, std::span<std::uint16_t> samples,
                          store_to where);
};

/// The forms that this processor can run. pack and unpack use the first; the last is portable.
[[nodiscard]] std::span<const waveform_codec> waveform_codecs();

} // namespace l3::koto
