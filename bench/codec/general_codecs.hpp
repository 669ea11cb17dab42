// SPDX-License-Identifier: Apache-2.0
// The general-purpose compressors that Debian has, at their fastest usual level: what one would
// take if there were no KOTO record. All but isa-l are optional: without one's library the bench is
// built without it, and says so.
#pragma once

#include <cstddef>
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
  std::string missing{}; ///< the library, if this program was built without it
};

[[nodiscard]] std::vector<general_codec> general_codecs();

/// The names of the others, each with the reason.
[[nodiscard]] std::vector<std::string> codecs_left_out();

/// Enough for any of them.
[[nodiscard]] constexpr std::size_t max_compressed_bytes(std::size_t bytes) {
  return bytes + bytes / 64 + 4096;
}

} // namespace l3::bench
