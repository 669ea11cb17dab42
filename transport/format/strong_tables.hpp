// SPDX-License-Identifier: Apache-2.0
// The tables of the strong codec (docs/formats.md, section 5): expected frequencies of residuals,
// by scale. They are Student's t distributions with 8 degrees of freedom, a Gaussian with a
// digitizer's tails, rounded to frequencies with the sum 1024. The numbers are part of the format,
// so they are listed and not computed.
#pragma once

#include <cstdint>

namespace l3::strong {

inline constexpr std::uint32_t table_bits = 10;
inline constexpr std::uint32_t table_slots = 1U << table_bits; // sum of a table's frequencies
inline constexpr std::uint32_t small_scales = 10; // scales whose residuals are coded completely
inline constexpr std::uint32_t max_low_bits = 6;  // of residuals of the other scales
inline constexpr std::uint32_t scales = small_scales + 2 * max_low_bits;
inline constexpr std::uint32_t tables = 12;      // the last two serve all larger scales
inline constexpr std::uint32_t max_symbols = 64; // in a table

/// Frequencies of the symbols 0, 1, …; the last of each table is the escape. The rest is zero.
inline constexpr std::uint16_t frequencies[tables][max_symbols] = {
    {999, 12, 12, 1},
    {950, 37, 36, 1},
    {838, 92, 91, 1, 1, 1},
    {683, 162, 162, 7, 7, 1, 1, 1},
    {527, 218, 218, 27, 27, 2, 2, 1, 1, 1},
    {390, 236, 235, 65, 65, 13, 13, 2, 2, 1, 1, 1},
    {283, 215, 215, 103, 103, 36, 36, 11, 11, 3, 3, 1, 1, 1, 1, 1},
    {203, 176, 176, 117, 117, 63, 63, 30, 30, 13, 13, 6, 6, 2, 2, 1, 1, 1, 1, 1, 1, 1},
    {144, 134, 134, 108, 108, 78, 78, 51, 50, 30, 30, 17, 17, 9, 9,
     5,   5,   3,   3,   1,   1,  1,  1,  1,  1,  1,  1,  1,  1, 1},
    {103, 99, 99, 89, 89, 74, 74, 59, 59, 44, 44, 32, 32, 21, 21, 14, 14, 10, 10,
     6,   6,  4,  4,  2,  2,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1},
    {142, 142, 123, 123, 93, 92, 62, 62, 39, 39, 23, 23, 13, 13, 7,
     7,   4,   4,   2,   2,  1,  1,  1,  1,  1,  1,  1,  1,  1},
    {102, 102, 94, 94, 82, 82, 67, 66, 50, 50, 37, 37, 26, 26, 18, 18, 12, 12, 8, 8,
     5,   5,   3,  3,  2,  2,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1},
};

} // namespace l3::strong
