// SPDX-License-Identifier: Apache-2.0
#include "transport/output/spool_index.hpp"

#include <algorithm>
#include <utility>

namespace l3 {

namespace {

/// The first block of this number or a later one.
template <class Lane>
auto find_in(Lane& of, std::uint64_t sequence) {
  return std::lower_bound(
      of.blocks.begin(), of.blocks.end(), sequence,
      [](const spool_place& place, std::uint64_t wanted) { return place.sequence < wanted; });
}

} // namespace

void spool_index::add_segment(std::uint64_t number, std::uint64_t bytes) {
  segments_[number].bytes = bytes;
  all_.disk_bytes += bytes;
}

void spool_index::resize_segment(std::uint64_t number, std::uint64_t bytes) {
  auto& s = segments_.at(number);
  all_.disk_bytes += bytes - s.bytes;
  s.bytes = bytes;
}

void spool_index::unpin_segment(std::uint64_t number) {
  auto& s = segments_.at(number);
  s.pinned = false;
  if (s.needed == 0) free_.push_back(number);
}

std::uint64_t spool_index::bytes_if_free(std::uint64_t number) const {
  const auto found = segments_.find(number);
  return found != segments_.end() && found->second.needed == 0 ? found->second.bytes : 0;
}

void spool_index::count(lane& of, const spool_place& place) {
  all_.events += place.events;
  all_.bytes += place.bytes;
  of.events += place.events;
  of.bytes += place.bytes;
}

void spool_index::discount(lane& of, const spool_place& place) {
  all_.events -= place.events;
  all_.bytes -= place.bytes;
  of.events -= place.events;
  of.bytes -= place.bytes;
}

void spool_index::no_longer_in(std::uint64_t number) {
  auto& s = segments_.at(number);
  if (--s.needed == 0 && !s.pinned) free_.push_back(number);
}

bool spool_index::add_block(const block_header& header, std::uint64_t number,
                            std::uint64_t offset) {
  auto& of = lanes_[header.session];
  of.run = header.run;
  of.node = header.node;
  auto& in = segments_.at(number);
  if (std::ranges::find(in.sessions, header.session) == in.sessions.end()) {
    in.sessions.push_back(header.session);
    ++of.segments;
  }
  if (header.sequence <= of.released) return false;

  const spool_place place{header.sequence, number, offset,
                          static_cast<std::uint32_t>(sizeof header + header.payload_bytes),
                          header.events};
  const auto at = find_in(of, header.sequence);
  if (at != of.blocks.end() && at->sequence == header.sequence) {
    discount(of, *at);
    no_longer_in(std::exchange(*at, place).segment);
  } else {
    of.blocks.insert(at, place);
    ++all_.blocks;
  }
  count(of, place);
  ++in.needed;
  return true;
}

void spool_index::mark_damaged(std::uint64_t session, std::uint64_t sequence) {
  const auto of = lanes_.find(session);
  if (of == lanes_.end()) return;
  const auto at = find_in(of->second, sequence);
  if (at == of->second.blocks.end() || at->sequence != sequence) return;
  discount(of->second, *at);
  at->bytes = at->events = 0;
}

void spool_index::mark_missing(std::uint64_t session, std::uint64_t sequence) {
  auto& of = lanes_[session];
  const auto at = find_in(of, sequence);
  if (at != of.blocks.end() && at->sequence == sequence) return;
  of.blocks.insert(at, {.sequence = sequence});
}

spool_index::released spool_index::release(std::uint64_t session, std::uint64_t up_to) {
  auto& of = lanes_[session];
  of.released = std::max(of.released, up_to);
  released gone;
  for (; !of.blocks.empty() && of.blocks.front().sequence <= up_to; of.blocks.pop_front()) {
    const spool_place& first = of.blocks.front();
    if (first.segment == 0) continue;
    discount(of, first);
    no_longer_in(first.segment);
    --all_.blocks;
    ++gone.blocks;
    gone.events += first.events;
  }
  return gone;
}

std::vector<std::uint64_t> spool_index::take_free() { return std::exchange(free_, {}); }

std::vector<spool_index::finished_lane> spool_index::forget_segment(std::uint64_t number) {
  std::vector<finished_lane> finished;
  const auto gone = segments_.find(number);
  for (const auto session : gone->second.sessions) {
    auto& of = lanes_[session];
    if (--of.segments == 0) finished.push_back({session, of.released});
  }
  all_.disk_bytes -= gone->second.bytes;
  segments_.erase(gone);
  return finished;
}

const spool_index::lane* spool_index::find(std::uint64_t session) const {
  const auto found = lanes_.find(session);
  return found == lanes_.end() ? nullptr : &found->second;
}

std::optional<spool_place> spool_index::place_of(std::uint64_t session,
                                                 std::uint64_t sequence) const {
  const auto of = lanes_.find(session);
  if (of == lanes_.end()) return std::nullopt;
  const auto at = find_in(of->second, sequence);
  if (at == of->second.blocks.end() || at->sequence != sequence) return std::nullopt;
  return *at;
}

} // namespace l3
