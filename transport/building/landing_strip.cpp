// SPDX-License-Identifier: Apache-2.0
#include "transport/building/landing_strip.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace l3 {
namespace {

/// One strip may hold one part in this many of a batch.
constexpr std::size_t strip_share = 8;

constexpr std::size_t cache_line = 64;

} // namespace

landing_strip::landing_strip(std::uint32_t slots, std::uint32_t chunk_bytes)
    : slots_(slots), chunks_(slots), own_(std::size_t{slots} * round_up(chunk_bytes, cache_line)) {
  waiting_.reserve(slots);
  kept_.reserve(slots);
  exchanged_.reserve(slots);
}

bool landing_strip::refill(held_batches& batches) {
  waiting_.clear();
  auto* current = batches.current();
  if (current == nullptr) {
    use_own_memory(batches);
    return true;
  }
  exchanged_.clear();
  if (at_ != current) {
    release(batches);
    at_ = current;
    batches.enter(*at_);
  }
  fill();
  return held_ > 0;
}

/// Replaces kept slots and fills the strip up to its share.
void landing_strip::fill() {
  auto& landing = at_->landing;
  std::byte* const memory = at_->batch->bytes.data();
  for (std::size_t replaced = 0; replaced < kept_.size(); ++replaced) {
    const auto offset = landing.slot();
    if (!offset) return drop_kept(replaced);
    set(kept_[replaced], {memory + *offset, *offset});
  }
  kept_.clear();
  const std::size_t share =
      std::clamp<std::size_t>(landing.slots() / strip_share, 1, slots_.size());
  for (; held_ < share; ++held_) {
    const auto offset = landing.slot();
    if (!offset) return;
    set(static_cast<std::uint32_t>(held_), {memory + *offset, *offset});
  }
}

/// The batch has no slots left for those not replaced: the strip gets shorter.
void landing_strip::drop_kept(std::size_t replaced) {
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(replaced));
  std::ranges::sort(kept_, std::greater{}); // so that the last held slot is none of them
  for (const auto slot : kept_) slots_[slot] = slots_[--held_];
  kept_.clear();
  exchanged_.resize(held_);
  std::iota(exchanged_.begin(), exchanged_.end(), 0U);
}

void landing_strip::use_own_memory(held_batches& batches) {
  release(batches);
  exchanged_.clear();
  const std::size_t slot_bytes = own_.size() / slots_.size();
  for (; held_ < slots_.size(); ++held_)
    set(static_cast<std::uint32_t>(held_), {own_.data() + held_ * slot_bytes, 0});
}

/// Returns the slots in such an order that the strip gets them again in their places.
void landing_strip::release(held_batches& batches) {
  waiting_.clear();
  if (at_ != nullptr) {
    std::ranges::sort(kept_);
    for (std::size_t s = held_; s-- > 0;) {
      if (!kept_.empty() && kept_.back() == s) {
        kept_.pop_back();
      } else {
        at_->landing.give_back(slots_[s].offset);
      }
    }
    batches.leave(*at_);
  }
  at_ = nullptr;
  held_ = 0;
  kept_.clear();
}

} // namespace l3
