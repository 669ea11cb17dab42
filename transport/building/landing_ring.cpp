// SPDX-License-Identifier: Apache-2.0
#include "transport/building/landing_ring.hpp"

#include <algorithm>
#include <bit>

#include "transport/building/event_builder.hpp"

namespace l3 {

landing_ring::landing_ring(event_builder& builder, std::uint32_t entries, input_counters& input)
    : builder_(builder), input_(input),
      size_(std::clamp<std::size_t>(builder.slots_of_a_ring(), 1, entries)),
      mask_(std::bit_ceil(size_) - 1), entries_(mask_ + 1),
      own_slot_bytes_(landing_area::region_bytes(builder.settings().chunk_bytes)),
      own_(entries_.size() * own_slot_bytes_) {
  for (std::size_t n = 0; n < entries_.size(); ++n)
    entries_[n].own = own_.data() + n * own_slot_bytes_;
  builder_.attach(*this);
}

landing_ring::~landing_ring() { builder_.detach(*this); }

void landing_ring::pop() {
  const landing_slot& slot = front().slot;
  if (slot.batch != nullptr) {
    if (!slot.kept) slot.batch->landing.give_back(slot.offset);
    --slot.batch->in_rings;
  }
  ++taken_;
}

bool landing_ring::refill(held_batches& batches) {
  batch_in_use* current = batches.current();
  if (current == nullptr) {
    use_own_memory();
    return true;
  }
  std::byte* const memory = current->batch->bytes.data();
  while (granted_.load(std::memory_order_relaxed) - taken_ < size_) {
    const auto offset = current->landing.slot();
    if (!offset) break;
    ++current->in_rings;
    grant({memory + *offset, current, *offset});
  }
  return granted_.load(std::memory_order_relaxed) != taken_;
}

void landing_ring::use_own_memory() {
  for (auto n = granted_.load(std::memory_order_relaxed); n - taken_ < size_; ++n)
    grant({at(n).own});
}

/// Returns the slots in such an order that the ring gets them again in their places.
void landing_ring::release() {
  auto n = granted_.load(std::memory_order_relaxed);
  for (; n != landed_.load(std::memory_order_relaxed); --n) {
    const landing_slot& slot = at(n - 1).slot;
    if (slot.batch == nullptr) continue;
    slot.batch->landing.give_back(slot.offset);
    --slot.batch->in_rings;
  }
  granted_.store(n, std::memory_order_release);
  is_behind_ = false;
}

} // namespace l3
