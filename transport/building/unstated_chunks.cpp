// SPDX-License-Identifier: Apache-2.0
#include "transport/building/unstated_chunks.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace l3 {

unstated_chunks::unstated_chunks(std::uint32_t chunk_bytes)
    : chunk_bytes_(chunk_bytes), siblings_(remembered), expected_(remembered),
      memory_(chunk_bytes_ * places) {
  waiting_.reserve(places);
  free_.reserve(places);
  for (std::uint32_t slot = places; slot > 0; --slot) free_.push_back(slot - 1);
}

std::optional<std::uint32_t> unstated_chunks::spill_of(std::uint32_t fragment_id,
                                                       time_point now) const {
  const sibling& s = siblings_[index_of(fragment_id)];
  if (s.fragment_id != fragment_id || now >= s.time + patience) return std::nullopt;
  return s.spill;
}

void unstated_chunks::hold(const l2::datagram_header& header, std::span<const std::byte> bytes,
                           time_point now) {
  assert(!full());
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  std::memcpy(memory_.data() + slot * chunk_bytes_, bytes.data(), bytes.size());
  waiting_.push_back({header, static_cast<std::uint32_t>(bytes.size()), slot, now});
  ++expected_[index_of(header.fragment_id)];
}

std::optional<unstated_chunks::waiting_chunk> unstated_chunks::take(std::uint32_t fragment_id) {
  const auto at = std::ranges::find_if(waiting_, [fragment_id](const waiting_chunk& c) {
    return c.header.fragment_id == fragment_id;
  });
  if (at == waiting_.end()) return std::nullopt;
  return remove(at);
}

std::optional<unstated_chunks::waiting_chunk> unstated_chunks::take_oldest() {
  if (waiting_.empty()) return std::nullopt;
  return remove(waiting_.begin());
}

std::optional<unstated_chunks::waiting_chunk> unstated_chunks::take_expired(time_point now) {
  if (waiting_.empty() || now - waiting_.front().since < patience) return std::nullopt;
  return remove(waiting_.begin());
}

unstated_chunks::waiting_chunk unstated_chunks::remove(std::vector<waiting_chunk>::iterator at) {
  const waiting_chunk c = *at;
  waiting_.erase(at);
  free_.push_back(c.slot);
  --expected_[index_of(c.header.fragment_id)];
  return c;
}

} // namespace l3
