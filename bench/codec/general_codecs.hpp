// SPDX-License-Identifier: Apache-2.0
// The codecs of others that Debian has: what one would take if there were no KOTO record. `pack`
// and `unpack` compare with general-purpose compressors at their fastest usual level, `codecs` also
// with strong levels and with codecs for samples. All but isa-l are optional: without one's library
// the bench is built without it, and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace l3::bench {

/// Both functions return the bytes that they wrote, 0 on failure.
struct general_codec {
  std::string name;
  std::function<std::size_t(std::span<const std::byte> in, std::span<std::byte> out)> compress;
  std::function<std::size_t(std::span<const std::byte> in, std::span<std::byte> out)> decompress;
  std::string missing{};            ///< the library, if this program was built without it
  std::uint32_t greatest_error = 0; ///< counts: how far off the samples that come back may be
};

enum class codec_set : std::uint8_t {
  fast, ///< for `pack` and `unpack`
  wide, ///< for `codecs`
};

/// Those that this program was built with.
[[nodiscard]] std::vector<general_codec> general_codecs(codec_set set);

/// The names of the others, each with the reason.
[[nodiscard]] std::vector<std::string> codecs_left_out(codec_set set);

/// Enough for any of them, and for our own.
[[nodiscard]] constexpr std::size_t max_compressed_bytes(std::size_t bytes) {
  return bytes + bytes / 32 + 4096;
}

} // namespace l3::bench
