// SPDX-License-Identifier: Apache-2.0
#include "transport/building/landing.hpp"

namespace l3 {
namespace {

constexpr std::uint32_t piece_alignment = 4;

} // namespace

void landing_area::open(input_batch& batch) {
  batch_ = &batch;
  slots_ = batch.bytes.size() / slot_bytes_;
  free_.clear();
  gather_at_ = gather_end_ = 0;
}

std::optional<piece_offset> landing_area::gather(std::uint32_t bytes) {
  const auto room = static_cast<std::uint32_t>(round_up(bytes, piece_alignment));
  if (gather_end_ - gather_at_ < room) {
    const auto fresh = slot();
    if (!fresh) return std::nullopt;
    gather_at_ = *fresh;
    gather_end_ = *fresh + slot_bytes_;
  }
  const auto offset = gather_at_;
  gather_at_ += room;
  return offset;
}

} // namespace l3
