// SPDX-License-Identifier: Apache-2.0
#include "transport/building/landing.hpp"

namespace l3 {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::uint32_t piece_alignment = 4;

} // namespace

landing_area::landing_area(std::uint32_t chunk_bytes)
    : slot_bytes_(static_cast<std::uint32_t>(round_up(chunk_bytes, cache_line))) {}

void landing_area::open(input_batch& batch) {
  batch_ = &batch;
  free_.clear();
  gather_at_ = gather_end_ = 0;
}

std::optional<piece_offset> landing_area::slot() {
  if (free_.empty()) return region(slot_bytes_);
  const auto offset = free_.back();
  free_.pop_back();
  return offset;
}

bool landing_area::has_slot() const {
  return !free_.empty() || batch_->bytes.size() - batch_->used_bytes >= slot_bytes_;
}

void landing_area::give_back(piece_offset slot) { free_.push_back(slot); }

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

std::size_t landing_area::region_bytes(std::size_t bytes) { return round_up(bytes, cache_line); }

std::optional<piece_offset> landing_area::region(std::size_t bytes) {
  const std::size_t room = region_bytes(bytes);
  if (batch_->bytes.size() - batch_->used_bytes < room) return std::nullopt;
  const auto offset = static_cast<piece_offset>(batch_->used_bytes);
  batch_->used_bytes += room;
  return offset;
}

} // namespace l3
