// SPDX-License-Identifier: Apache-2.0
// Many waveforms of 64 samples to contiguous KOTO records (koto.hpp) and back, as fast as one CPU
// core can: with AVX-512 or AVX2 where the processor has it, chosen when the program runs. All
// forms write the same bytes as koto::pack_record and read what koto::unpack_record reads. Nothing
// outside the spans is read or written; damaged records are a value, not an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/codec/koto.hpp"

namespace l3::koto {

/// What pack needs for its output, however noisy the waveforms are.
[[nodiscard]] constexpr std::size_t max_packed_bytes(std::size_t waveforms) {
  return waveforms * max_record_bytes;
}

/// Packs samples.size() / 64 waveforms to the begin of `out` and returns the bytes used. Aborts
/// unless the samples are whole waveforms and `out` has max_packed_bytes for them: it may write to
/// all of that, and what lies behind the bytes used is then garbage.
[[nodiscard]] std::size_t pack(std::span<const std::uint16_t> samples, std::span<std::byte> out);

enum class unpack_status : std::uint8_t {
  done,             ///< the records or the room for samples came to their end
  cut_off,          ///< the input ends within a record
  too_many_bits,    ///< a record's N is above 16
  sample_too_large, ///< a record has a sample above 65535
};

struct unpack_result {
  std::size_t records = 0; ///< that are good and were unpacked, 64 samples each
  std::size_t bytes = 0;   ///< that they took: where the next one, or the damaged one, begins
  unpack_status status = unpack_status::done;
};

/// Unpacks records one after the other until they end, `samples` is full, or one is damaged.
/// Aborts unless `samples` is room for whole waveforms. What lies behind the samples of the good
/// records may have been written to.
[[nodiscard]] unpack_result unpack(std::span<const std::byte> records,
                                   std::span<std::uint16_t> samples);

/// The same two functions for one instruction set, so that tests and benches can compare them.
struct waveform_codec {
  const char* name;
  std::size_t (*pack)(std::span<const std::uint16_t> samples, std::span<std::byte> out);
  unpack_result (*unpack)(std::span<const std::byte> records, std::span<std::uint16_t> samples);
};

/// What this processor can run: pack and unpack take the first, the last is the portable form.
[[nodiscard]] std::span<const waveform_codec> waveform_codecs();

} // namespace l3::koto
