// SPDX-License-Identifier: Apache-2.0
#include "gpu/codec/decode_all.hpp"

#include "gpu/codec/strong_groups.hpp"

namespace l3::strong {

bool decode_all(std::span<const std::byte> groups, bool wide, std::span<std::uint16_t> samples) {
  const auto r = decode(groups, wide ? shape::long_ones : shape::short_ones, samples);
  return !r.damaged && r.groups * group_samples == samples.size() && r.bytes == groups.size();
}

} // namespace l3::strong
