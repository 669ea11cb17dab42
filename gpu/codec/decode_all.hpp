// SPDX-License-Identifier: Apache-2.0
// The decoder of the strong codec for readers of packed events: a group_decoder
// (transport/store/event_view.hpp) with the processor's vector instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace l3::strong {

/// Decodes adjacent groups that fill `groups`; returns false if any is damaged. `wide`: their
/// waveforms are long.
[[nodiscard]] bool decode_all(std::span<const std::byte> groups, bool wide,
                              std::span<std::uint16_t> samples);

} // namespace l3::strong
