// SPDX-License-Identifier: Apache-2.0
// The reader's side of the strong codec (docs/formats.md, section 5): the 1024 samples of a board
// out of a group. Like koto_record.hpp it shares no code with the kernels that pack, only the
// numbers of the format's tables. It is written for clarity: gpu/codec has a decoder that is
// several times as fast, which programs hand to the readers of events as a group_decoder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/format/l2.hpp"

namespace l3 {

using strong_samples = std::array<std::uint16_t, l2::sample_words>;

/// Length of the group at the start of `bytes`, of which the length word alone is looked at; 0 if
/// there are too few bytes.
[[nodiscard]] std::size_t strong_group_bytes(std::span<const std::byte> bytes);

/// The samples of a group whose length strong_group_bytes() has found, record by record. `wide`:
/// the waveforms are longer than a record. Returns false if no encoder wrote the group; the samples
/// are then of no use.
[[nodiscard]] bool unpack_strong_group(std::span<const std::byte> group, bool wide,
                                       strong_samples& samples);

/// Decodes groups that stand one behind the other and take all of `groups`, to the samples of so
/// many groups. False: an encoder wrote one of them not so.
using group_decoder = bool (*)(std::span<const std::byte> groups, bool wide,
                               std::span<std::uint16_t> samples);
/// The one made of the functions above.
[[nodiscard]] bool unpack_strong_groups(std::span<const std::byte> groups, bool wide,
                                        std::span<std::uint16_t> samples);

} // namespace l3
