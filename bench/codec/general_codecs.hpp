// SPDX-License-Identifier: Apache-2.0
// The codecs of others that Debian has: what one would take if there were no KOTO record. `pack`
// and `unpack` compare with general-purpose compressors at their fastest usual level, `codecs` also
// with strong levels and with codecs for samples. All are optional: without one's library the
// bench is built without it.
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
};

enum class codec_set : std::uint8_t {
  fast, ///< for `pack` and `unpack`
  wide, ///< for `codecs`
};

/// Those that this program was built with.
[[nodiscard]] std::vector<general_codec> general_codecs(codec_set set);

/// Enough for any of them, and for our own.
[[nodiscard]] constexpr std::size_t max_compressed_bytes(std::size_t bytes) {
  return bytes + bytes / 32 + 4096;
}

} // namespace l3::bench
