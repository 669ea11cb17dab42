// SPDX-License-Identifier: Apache-2.0
// The entrants of `koto-l3-bench pack` and `unpack`: copies of the same bytes as the limit, the
// plain loop, and every instruction set of this processor; and those of `codecs`. Each has its own
// input and output memory, so that none finds its data in a cache because of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/codec/general_codecs.hpp"
#include "bench/harness/measure.hpp"

namespace l3::bench {

/// The samples in memory that is aligned for them.
[[nodiscard]] inline std::span<const std::uint16_t> samples_in(std::span<const std::byte> in) {
  return {reinterpret_cast<const std::uint16_t*>(in.data()), in.size() / sizeof(std::uint16_t)};
}
[[nodiscard]] inline std::span<std::uint16_t> samples_in(std::span<std::byte> out) {
  return {reinterpret_cast<std::uint16_t*>(out.data()), out.size() / sizeof(std::uint16_t)};
}

enum class codec_direction : std::uint8_t { pack, unpack };

struct codec_entrant {
  entrant what;
  std::shared_ptr<std::size_t> packed_bytes; ///< of the waveforms by this codec; null for copies
};

/// The entrants for `measure`.
[[nodiscard]] std::vector<entrant> entrants_of(std::span<const codec_entrant> all);

/// The first is memcpy. `samples` are whole waveforms and must outlive the entrants.
[[nodiscard]] std::vector<codec_entrant> codec_entrants(codec_direction direction,
                                                        std::span<const std::uint16_t> samples);

/// One entrant for each of `codecs`. In both directions, an entrant is right if the codec restores
/// the samples.
[[nodiscard]] std::vector<codec_entrant> codec_entrants(codec_direction direction,
                                                        std::span<const std::uint16_t> samples,
                                                        std::span<const general_codec> codecs);

} // namespace l3::bench
