// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/spool_backlog.hpp"

namespace l3 {

spool_backlog::spool_backlog(spool& disk, const block_identity& own) : disk_(disk) {
  own_.identity = own;
  for (const block_identity& l : disk.found().lanes) found_.emplace_back().identity = l;
  for (buffer& b : buffers_) unused_.push_back(&b);
}

lane_state spool_backlog::lane() const {
  if (current_ == nullptr) return {};
  const auto waiting = disk_.lane(current_->identity.session);
  const std::uint64_t sealed = waiting ? waiting->last : stored_;
  const bool is_found = current_ != &own_; // it may have sent blocks that are now missing
  return {current_->identity, sealed, stored_, is_found ? last_sequence : 0};
}

bool spool_backlog::next_lane() {
  backlog_lane* next = nullptr;
  if (next_found_ < found_.size()) {
    next = &found_[next_found_++];
  } else if (disk_.lane(own_.identity.session)) {
    next = &own_;
  }
  if (next == current_) return false;
  current_ = next;
  // Blocks before the first one on disk were stored and released.
  stored_ = 0;
  if (next == nullptr) return true;
  stored_ = disk_.lane(next->identity.session)->first - 1;
  return true;
}

held_block spool_backlog::hold(std::uint64_t sequence) {
  const lane_state now = lane();
  if (sequence <= now.stored || sequence > now.sealed) return {};
  buffer* to = nullptr;
  {
    const std::lock_guard guard(lock_);
    if (unused_.empty()) return {}; // the next released buffer rings the bell
    to = unused_.back();
    unused_.pop_back();
  }
  const auto got = disk_.read(now.identity.session, sequence, *to);
  if (got.error) { // the forwarder asks again later: there may be no other copy
    const std::lock_guard guard(lock_);
    unused_.push_back(to);
    return {};
  }
  return {*to, {to, [this](buffer* held) {
                  {
                    const std::lock_guard guard(lock_);
                    unused_.push_back(held);
                  }
                  bell().wake();
                }}};
}

void spool_backlog::stored_up_to(std::uint64_t sequence, time_point /*now*/) {
  if (sequence <= stored_ || sequence > lane().sealed) return;
  current_->delivered.add(disk_.release(current_->identity.session, sequence).events);
  stored_ = sequence;
}

} // namespace l3
