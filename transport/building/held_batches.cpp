// SPDX-License-Identifier: Apache-2.0
#include "transport/building/held_batches.hpp"

#include <cassert>

namespace l3 {

void held_batches::move_to(input_batch* next) {
  if (current_ != nullptr) {
    current_->closed = true;
    closed_serial_ = current_->batch->serial;
    current_ = nullptr;
  }
  if (next != nullptr) current_ = &batches_.emplace_back(*next, chunk_bytes_);
  submit_finished();
}

void held_batches::leave(batch_in_use& b) {
  assert(b.users > 0);
  --b.users;
  submit_finished();
}

std::uint64_t held_batches::last_serial() const {
  return current_ != nullptr && current_->batch->used_events > 0 ? current_->batch->serial
                                                                 : closed_serial_;
}

void held_batches::submit_finished() {
  while (!batches_.empty() && batches_.front().closed && batches_.front().users == 0) {
    const std::uint64_t events = batches_.front().batch->used_events;
    pool_.submit(*batches_.front().batch);
    events_ -= events;
    batches_.pop_front();
  }
}

} // namespace l3
