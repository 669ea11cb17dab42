// SPDX-License-Identifier: Apache-2.0
#include "gpu/codec/strong_groups.hpp"

#include <array>

#include "gpu/codec/strong_portable.hpp"

namespace l3::strong {

std::size_t encode(std::span<const std::uint16_t> samples, shape of, std::span<std::byte> out) {
  return group_codecs().front().encode(samples, of, out);
}

decode_result decode(std::span<const std::byte> groups, shape of,
                     std::span<std::uint16_t> samples) {
  return group_codecs().front().decode(groups, of, samples);
}

std::span<const group_codec> group_codecs() {
  static constexpr std::array codecs{
      group_codec{"portable", portable::encode, portable::decode},
  };
  return codecs;
}

} // namespace l3::strong
