// SPDX-License-Identifier: Apache-2.0
#include "transport/output/spool_backlog.hpp"

#include <algorithm>

namespace l3 {

spool_backlog::spool_backlog(spool& disk, const block_identity& own) : disk_(disk), own_(own) {
  for (const block_identity& l : disk.found().lanes) {
    found_counters_.emplace_back().session = l.session;
    if (const auto on_disk = disk.lane(l.session))
      found_.push_back({l, on_disk->last, &found_counters_.back(), false});
  }
  own_counters_.session = own.session;
  for (buffer& b : buffers_) b.owner = this;
}

void spool_backlog::added(std::uint64_t sequence) {
  own_last_ = sequence;
  wake();
}

void spool_backlog::enter(const lane& next) {
  current_ = next;
  current_is_own_ = next.own;
  found_last_ = next.last;
  // What comes before the first block on disk was stored and released.
  const auto waiting = disk_.lane(next.identity.session);
  stored_ = next.own ? own_stored_.load() : waiting ? waiting->first - 1 : next.last;
}

bool spool_backlog::next_lane() {
  if (!found_.empty()) {
    const lane next = found_.front();
    found_.pop_front();
    enter(next);
    return true;
  }
  if (current_.own) {
    if (own_last_ != own_stored_) return false;
    enter({}); // until something is added
    return true;
  }
  if (own_last_ != own_stored_) {
    enter({own_, 0, &own_counters_, true});
    return true;
  }
  const bool ended = current_.identity.session != 0;
  enter({});
  return ended;
}

std::optional<block_source::held_block> spool_backlog::hold(std::uint64_t sequence) {
  if (sequence <= stored_ || sequence > last_sealed()) return std::nullopt;
  buffer* const to = take_buffer(sequence);
  if (to == nullptr) return std::nullopt; // the first to be released wakes the forwarder
  const auto got = disk_.read(current_.identity.session, sequence, to->bytes);
  if (got.error) { // the forwarder asks again a little later: there may be no other copy
    const std::lock_guard guard(lock_);
    to->used = false;
    return std::nullopt;
  }
  current_.counts->damaged.add(got.lost_events);
  return held_block{to->bytes, to};
}

spool_backlog::buffer* spool_backlog::take_buffer(std::uint64_t sequence) {
  const std::lock_guard guard(lock_);
  const auto unused =
      std::find_if(buffers_.begin(), buffers_.end(), [](const buffer& b) { return !b.used; });
  if (unused == buffers_.end()) return nullptr;
  unused->used = true;
  unused->session = current_.identity.session;
  unused->sequence = sequence;
  return &*unused;
}

void spool_backlog::buffer::release() noexcept {
  {
    const std::lock_guard guard(owner->lock_);
    used = false;
  }
  owner->wake();
}

bool spool_backlog::is_held(std::uint64_t sequence) const {
  const std::lock_guard guard(lock_);
  return std::any_of(buffers_.begin(), buffers_.end(), [&](const buffer& b) {
    return b.used && b.session == current_.identity.session && b.sequence == sequence;
  });
}

void spool_backlog::stored_up_to(std::uint64_t sequence, std::uint64_t /*now*/) {
  if (sequence <= stored_ || sequence > last_sealed()) return;
  const auto gone = disk_.release(current_.identity.session, sequence);
  current_.counts->delivered.add(gone.events);
  if (current_.own) own_stored_ = sequence;
  stored_ = sequence;
}

} // namespace l3
