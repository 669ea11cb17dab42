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
  fetch(std::min(room, gather_end_ - gather_at_)); // the next one is often as long
  return offset;
}

/// Fetches memory for the next short chunk: stores to memory that no cache holds would wait for it.
void landing_area::fetch(std::uint32_t bytes) const {
  for (std::uint32_t at = 0; at < bytes; at += cache_line)
    __builtin_prefetch(batch_->bytes.data() + gather_at_ + at, 1);
}

} // namespace l3
