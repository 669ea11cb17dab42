// SPDX-License-Identifier: Apache-2.0
#include "transport/building/held_batches.hpp"

namespace l3 {
namespace {

constexpr std::uint32_t piece_alignment = 4;

/// Five times the age of a batch. Events of slower senders are parked.
constexpr auto longest_wait = std::chrono::milliseconds(25);

} // namespace

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
  // Prefetch the place of the next short chunk, which often has the same length.
  const std::uint32_t next = std::min(room, gather_end_ - gather_at_);
  for (std::uint32_t at = 0; at < next; at += cache_line)
    __builtin_prefetch(batch_->bytes.data() + gather_at_ + at, 1);
  return offset;
}

void held_batches::move_to(input_batch* next, time_point now) {
  if (current_ != nullptr) {
    current_->closed = true;
    current_->waits_at_most = now + longest_wait;
    current_->wait_from(now);
    closed_serial_ = current_->batch->serial;
    current_ = nullptr;
  }
  if (next != nullptr) current_ = &batches_.emplace_back(*next, chunk_bytes_);
}

batch_in_use* held_batches::overdue(time_point now) {
  for (batch_in_use& b : batches_) {
    if (!b.closed || b.open == 0) continue;
    const bool next_has_closed = b.batch->serial != closed_serial_;
    if (now >= b.waits_until || next_has_closed || current_is_full()) return &b;
  }
  return nullptr;
}

void held_batches::submit_finished() {
  while (!batches_.empty() && batches_.front().is_finished()) {
    input_batch* batch = batches_.front().batch;
    const std::uint64_t events = batch->used_events;
    batches_.pop_front();
    pool_.submit(*batch);
    events_ -= events;
  }
}

std::uint64_t held_batches::last_serial() const {
  return current_ != nullptr && current_->batch->used_events > 0 ? current_->batch->serial
                                                                 : closed_serial_;
}

} // namespace l3
