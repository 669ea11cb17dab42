// SPDX-License-Identifier: Apache-2.0
// Decodes the strong codec (docs/formats.md, section 5): the 1024 samples of a board from a group.
// Like koto_record.hpp it shares no code with the packing kernels, only the numbers of the format's
// tables. It is written for clarity: gpu/codec has a decoder that is several times as fast, which
// programs pass to event readers as a group_decoder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/format/l2.hpp"

namespace l3 {

using strong_samples = std::array<std::uint16_t, l2::sample_words>;

/// Length of the group at the start of `bytes`, from its length word only; 0 if there are too few
/// bytes.
[[nodiscard]] std::size_t strong_group_bytes(std::span<const std::byte> bytes);

/// Decodes a group with a length from strong_group_bytes(), record by record. `wide`: waveforms are
/// longer than a record. Returns false if no encoder wrote the group; the samples are then invalid.
[[nodiscard]] bool unpack_strong_group(std::span<const std::byte> group, bool wide,
                                       strong_samples& samples);

/// Decodes adjacent groups that fill `groups`. Returns false if no encoder wrote one of them.
using group_decoder = bool (*)(std::span<const std::byte> groups, bool wide,
                               std::span<std::uint16_t> samples);
/// The decoder made from the functions above.
[[nodiscard]] bool unpack_strong_groups(std::span<const std::byte> groups, bool wide,
                                        std::span<std::uint16_t> samples);

} // namespace l3
