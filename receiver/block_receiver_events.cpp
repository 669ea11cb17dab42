// SPDX-License-Identifier: Apache-2.0
// Reads the events of blocks: how many there are, and which of them another session has stored
// (docs/formats.md, section 8).
#include <utility>

#include <fmt/format.h>

#include "receiver/block_receiver.hpp"
#include "transport/format/crc32c.hpp"

namespace l3 {

/// Returns false if the header's number of events differs from the payload's, because ledgers count
/// by headers.
bool block_receiver::identify_events(std::span<const std::byte> body, const block_header& block,
                                     time_point now) {
  event_walk walk(body.subspan(sizeof(block_header), events_bytes(block)), block);
  events_.clear();
  while (const auto event = walk.next()) events_.push_back(recent_events::identity_of(*event));
  if (walk.complete()) return true;
  report(wrong_counts_told_, now,
         fmt::format("session {:016x}: block {} claims {} events but has {}{}: it is refused",
                     block.session, block.sequence, block.events, events_.size(),
                     walk.has_rest() ? " and bytes that are not an event" : ""));
  return false;
}

/// The first and last events of the current block, by spill and number; nothing if it is empty.
std::optional<std::pair<event_key, event_key>> block_receiver::first_and_last() const {
  if (events_.empty()) return std::nullopt;
  const auto key_of = [](const recent_events::identity& e) { return event_key{e.spill, e.number}; };
  std::pair all(key_of(events_.front()), key_of(events_.front()));
  for (const auto& e : events_) {
    const event_key key = key_of(e);
    if (is_before(key, all.first)) all.first = key;
    if (is_before(all.second, key)) all.second = key;
  }
  return all;
}

/// The unchanged block, or its other events with a new header.
std::span<const std::byte> block_receiver::without_repeats(std::span<const std::byte> body,
                                                           block_header& block) {
  const auto payload = body.subspan(sizeof(block_header));
  shortened_.clear();
  std::uint32_t repeated = 0;
  std::size_t kept = 0;
  std::size_t at = 0;
  for (const auto& who : events_) {
    const auto event = payload.subspan(at, who.bytes);
    const bool again = recent_.has_from_another(block.session, block.run, who);
    if (again && repeated++ == 0) {
      shortened_.assign(body.begin(),
                        body.begin() + static_cast<std::ptrdiff_t>(sizeof(block_header) + at));
    } else if (!again && repeated > 0) {
      shortened_.insert(shortened_.end(), event.begin(), event.end());
    }
    at += who.bytes;
    if (!again) events_[kept++] = who;
  }
  events_.resize(kept);
  if (repeated == 0) return body;
  const auto settings = payload.subspan(at);
  shortened_.insert(shortened_.end(), settings.begin(), settings.end());
  block.events -= repeated;
  block.repeated = repeated;
  block.payload_bytes = static_cast<std::uint32_t>(shortened_.size() - sizeof(block_header));
  block.payload_crc = crc32c(std::span(shortened_).subspan(sizeof(block_header)));
  seal_header(block);
  store(shortened_.data(), block);
  return shortened_;
}

void block_receiver::remember_events(const block_header& block) {
  for (const auto& who : events_) recent_.add(block.session, block.run, who);
  uncommitted_.push_back({block.session, block.sequence, events_.size()});
  uncommitted_events_.insert(uncommitted_events_.end(), events_.begin(), events_.end());
}

/// After an error the store may have taken back blocks of this step or committed some of them, so
/// it is asked. Goes backwards, as recent_events requires.
void block_receiver::forget_what_is_not_stored() {
  if (publisher_) publisher_->discard();
  auto end = uncommitted_events_.end();
  for (auto block = uncommitted_.rbegin(); block != uncommitted_.rend(); ++block) {
    const auto first = end - static_cast<std::ptrdiff_t>(block->events);
    if (block->sequence > store_.last_stored(block->session)) {
      for (auto e = end; e != first;) recent_.take_back(block->session, *--e);
      uncommitted_events_.erase(first, end);
      block->events = 0;
    }
    end = first;
  }
  std::erase_if(uncommitted_, [](const new_block& b) { return b.events == 0; });
}

} // namespace l3
