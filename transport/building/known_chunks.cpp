// SPDX-License-Identifier: Apache-2.0
#include "transport/building/known_chunks.hpp"

#include <algorithm>

namespace l3 {

fragment_chunks::fragment_chunks(const fragment_pieces& fragment, std::uint32_t chunk_bytes)
    : fragment_(fragment), chunk_bytes_(chunk_bytes),
      chunks_((fragment.bytes + chunk_bytes - 1) / chunk_bytes) {}

std::span<const std::byte> fragment_chunks::operator[](std::uint32_t chunk) const {
  const fragment_pieces& f = fragment_;
  const std::uint32_t offset = chunk * chunk_bytes_;
  const auto where = f.bytes <= f.piece_bytes ? std::size_t{f.pieces[0]} + offset : f.pieces[chunk];
  return {f.memory + where, std::min(chunk_bytes_, f.bytes - offset)};
}

void fragment_chunks::prefetch() const {
  for (std::uint32_t c = 0; c < chunks_; ++c) {
    const auto chunk = (*this)[c];
    __builtin_prefetch(chunk.data());
    __builtin_prefetch(&chunk.back());
  }
}

void fragment_chunks::mark(std::span<chunk_mark> out) const {
  for (std::uint32_t c = 0; c < out.size(); ++c)
    out[c] = c < chunks_ ? mark_of((*this)[c]) : no_mark;
}

known_chunks::known_chunks(std::uint32_t events, std::uint32_t crates, std::uint32_t max_chunks)
    : max_chunks_(max_chunks), event_marks_(std::size_t{crates} * max_chunks), events_(events),
      marks_(events * event_marks_) {}

std::size_t known_chunks::half_of(std::uint32_t spill) const {
  return static_cast<std::size_t>(std::ranges::find(spills_, spill) - spills_.begin());
}

std::size_t known_chunks::place_of(event_key key, std::size_t half) const {
  return (half * (events_.size() / 2) + key.number) % events_.size();
}

/// A new spill takes the place of that of which no event has ended for longer.
void known_chunks::remember(event_key key, std::span<const chunk_mark> marks) {
  std::size_t half = half_of(key.spill);
  if (half == spills_.size()) half = 1 - latest_;
  spills_[half] = key.spill;
  latest_ = half;
  const std::size_t place = place_of(key, half);
  events_[place] = {key, 0};
  std::ranges::copy(marks, std::span(marks_).subspan(place * event_marks_).begin());
}

bool known_chunks::has_another(event_key key, std::uint32_t crate, std::uint32_t chunk,
                               chunk_mark mark) const {
  const std::size_t half = half_of(key.spill);
  if (half == spills_.size()) return false;
  const std::size_t place = place_of(key, half);
  if (events_[place].key != key) return false;
  const chunk_mark kept = marks_[place * event_marks_ + std::size_t{crate} * max_chunks_ + chunk];
  return kept != no_mark && kept != mark;
}

bool known_chunks::set_conflicting(event_key key, std::uint32_t crate) {
  std::uint64_t& conflicting = events_[place_of(key, half_of(key.spill))].conflicting;
  const std::uint64_t bit = std::uint64_t{1} << crate;
  const bool first = (conflicting & bit) == 0;
  conflicting |= bit;
  return first;
}

} // namespace l3
