// SPDX-License-Identifier: Apache-2.0
// A board with only some of its waveforms (docs/formats.md, section 7): the length of its data,
// and the stored form of a pulse row. Kernels of the selection and of packing use the same
// functions.
#pragma once

#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/executors/bits.hpp"
#include "selection/packing/measure.hpp"
#include "transport/format/payload.hpp"

namespace l3 {

[[nodiscard]] L3_FN inline std::uint32_t features_bytes(std::uint32_t rows) {
  return board_mask_bytes + ones(rows) * static_cast<std::uint32_t>(sizeof(packed_pulse));
}

/// The shape of a completely measured board that is not raw, if only these records are kept.
/// `first`: index of its first record.
[[nodiscard]] L3_FN inline board_shape limited_shape(board_shape whole, std::uint32_t records,
                                                     const record_columns::view& measured,
                                                     std::uint32_t first) {
  board_shape shape{whole.form | board_limited, whole.bytes + board_mask_bytes};
  for (std::uint32_t r = 0; r < packet_lanes; ++r)
    if ((records >> r & 1) == 0) shape.bytes -= koto::record_bytes(measured.bits[first + r]);
  return shape;
}

[[nodiscard]] L3_FN inline packed_pulse packed_row(const pulse_rows& rows, std::uint32_t row) {
  packed_pulse p;
  p.pedestal = rows.pedestal[row];
  p.peak = rows.peak[row];
  p.time = rows.time[row];
  p.peak_sample = rows.peak_sample[row];
  p.flags = rows.flags[row];
  p.sum = rows.sum[row];
  return p;
}

} // namespace l3
