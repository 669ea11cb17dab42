// SPDX-License-Identifier: Apache-2.0
// Codecs of other projects in Debian: the alternatives to KOTO records and the strong codec. All
// are optional: without a library the bench is built without its codec.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace l3::bench {

/// Both functions return the number of bytes written, 0 on failure.
struct general_codec {
  std::string name;
  std::function<std::size_t(std::span<const std::byte> in, std::span<std::byte> out)> compress;
  std::function<std::size_t(std::span<const std::byte> in, std::span<std::byte> out)> decompress;
};

/// The codecs that this program was built with.
[[nodiscard]] std::vector<general_codec> general_codecs();

/// Enough for any of them, and for ours.
[[nodiscard]] constexpr std::size_t max_compressed_bytes(std::size_t bytes) {
  return bytes + bytes / 32 + 4096;
}

} // namespace l3::bench
