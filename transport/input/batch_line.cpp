// SPDX-License-Identifier: Apache-2.0
#include "transport/input/batch_line.hpp"

#include <cassert>

namespace l3 {

void batch_line::move_to(input_batch* next) {
  if (current_ != nullptr) {
    current_->closed = true;
    closed_serial_ = current_->batch->serial;
    current_ = nullptr;
  }
  if (next != nullptr) current_ = &line_.emplace_back(*next, chunk_bytes_);
  submit_finished();
}

void batch_line::leave(batch_in_use& b) {
  assert(b.users > 0);
  --b.users;
  submit_finished();
}

std::uint64_t batch_line::last_serial() const {
  return current_ != nullptr && current_->batch->used_events > 0 ? current_->batch->serial
                                                                 : closed_serial_;
}

void batch_line::submit_finished() {
  while (!line_.empty() && line_.front().closed && line_.front().users == 0) {
    const std::uint64_t events = line_.front().batch->used_events;
    pool_.submit(*line_.front().batch);
    events_ -= events;
    line_.pop_front();
  }
}

} // namespace l3
