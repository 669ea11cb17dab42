// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/spool_index.hpp"

#include <algorithm>

namespace l3 {

namespace {

/// The first block with this number or a later one.
template <class Blocks>
auto find_in(Blocks& blocks, std::uint64_t sequence) {
  return std::ranges::lower_bound(blocks, sequence, {}, &spool_place::sequence);
}

} // namespace

void spool_index::add_segment(std::uint64_t number, std::uint64_t bytes) {
  segments_[number].bytes = bytes;
  all_.disk_bytes += bytes;
}

void spool_index::resize_segment(std::uint64_t number, std::uint64_t bytes) {
  const auto before = std::exchange(segments_.at(number).bytes, bytes);
  all_.disk_bytes += bytes - before;
}

void spool_index::let_go(std::uint64_t number) {
  if (--segments_.at(number).needed == 0) free_.push_back(number);
}

std::uint64_t spool_index::bytes_without_need(std::uint64_t number) const {
  const auto found = segments_.find(number);
  return found != segments_.end() && found->second.needed == 1 ? found->second.bytes : 0;
}

void spool_index::discount(lane& of, const spool_place& place) {
  all_.events -= place.events;
  all_.bytes -= place.bytes;
  of.events -= place.events;
}

bool spool_index::add_block(const block_header& header, std::uint64_t number,
                            std::uint64_t offset) {
  auto& of = lanes_[header.session];
  of.run = header.run;
  of.node = header.node;
  auto& in = segments_.at(number);
  in.sessions.insert(header.session);
  if (header.sequence <= of.released) return false;

  const spool_place place{header.sequence, number, offset,
                          static_cast<std::uint32_t>(sizeof header + header.payload_bytes),
                          header.events};
  ++in.needed;
  all_.events += place.events;
  all_.bytes += place.bytes;
  of.events += place.events;
  const auto at = find_in(of.blocks, header.sequence);
  if (at != of.blocks.end() && at->sequence == header.sequence) {
    discount(of, *at);
    let_go(std::exchange(*at, place).segment);
  } else {
    of.blocks.insert(at, place);
    ++all_.blocks;
  }
  return true;
}

spool_index::released spool_index::release(std::uint64_t session, std::uint64_t up_to) {
  auto& of = lanes_[session];
  of.released = std::max(of.released, up_to);
  released gone;
  for (; !of.blocks.empty() && of.blocks.front().sequence <= up_to; of.blocks.pop_front()) {
    const spool_place& first = of.blocks.front();
    discount(of, first);
    let_go(first.segment);
    --all_.blocks;
    ++gone.blocks;
    gone.events += first.events;
  }
  return gone;
}

const spool_place* spool_index::find_block(std::uint64_t session, std::uint64_t sequence) const {
  const auto* of = find(session);
  if (of == nullptr) return nullptr;
  const auto at = find_in(of->blocks, sequence);
  return at != of->blocks.end() && at->sequence == sequence ? &*at : nullptr;
}

void spool_index::mark_damaged(std::uint64_t session, std::uint64_t sequence) {
  auto& of = lanes_.at(session);
  spool_place& place = *find_in(of.blocks, sequence);
  discount(of, place);
  of.lost += place.events;
  place.bytes = place.events = 0;
  ++all_.damaged;
}

/// Reads go forward and repeat a number only to send it again, so each is counted once.
void spool_index::mark_missing(std::uint64_t session, std::uint64_t sequence) {
  auto& told = lanes_.at(session).missing;
  if (sequence > told) ++all_.missing;
  told = std::max(told, sequence);
}

void spool_index::forget_segment(std::uint64_t number) {
  all_.disk_bytes -= segments_.at(number).bytes;
  segments_.erase(number);
}

bool spool_index::on_disk(std::uint64_t session) const {
  return std::ranges::any_of(segments_,
                             [&](const auto& s) { return s.second.sessions.contains(session); });
}

const spool_index::lane* spool_index::find(std::uint64_t session) const {
  const auto found = lanes_.find(session);
  return found == lanes_.end() ? nullptr : &found->second;
}

} // namespace l3
