// SPDX-License-Identifier: Apache-2.0
// The fast decoder of the strong codec as readers of packed events take it: a group_decoder
// (transport/store/strong_group.hpp) by the vectors of the processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace l3::strong {

/// Decodes groups that take all of `groups`, to the samples of so many groups; false if any is
/// damaged. `wide`: their waveforms are long.
[[nodiscard]] bool decode_all(std::span<const std::byte> groups, bool wide,
                              std::span<std::uint16_t> samples);

} // namespace l3::strong
