// SPDX-License-Identifier: Apache-2.0
#include "transport/building/known_events.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "transport/format/prescale.hpp"

namespace l3 {
namespace {

constexpr std::uint32_t page_marks = 1024;
constexpr std::uint32_t word_bits = 64;
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
// Special values of a range in place of its page:
constexpr std::uint32_t no_events = none;          // clear its bits before the first event
constexpr std::uint32_t forgotten = no_events - 1; // its page was reused

constexpr std::uint32_t ranges_for(std::uint32_t max_events) { return max_events / page_marks + 1; }

std::size_t pages_for(std::size_t marks, std::size_t ranges) {
  return std::clamp<std::size_t>(marks / page_marks, 1, ranges);
}

} // namespace

void event_digest::add(std::uint32_t crate, std::uint64_t digest) {
  // Equal fragments of two crates must differ in the sum.
  sum_ += mix_bits(digest + mix_bits(crate + 1));
}

std::uint32_t event_digest::mark() const {
  return std::max<std::uint32_t>(static_cast<std::uint32_t>(sum_ >> 32), 1);
}

known_events::known_events(std::uint32_t max_events_per_spill, std::size_t marks)
    : ranges_per_spill_(ranges_for(max_events_per_spill)),
      bits_(std::size_t{ranges_per_spill_} * spills * page_marks / word_bits),
      page_of_(std::size_t{ranges_per_spill_} * spills, no_events),
      owners_(pages_for(marks, page_of_.size()), none) {
  marks_.resize(owners_.size() * page_marks);
}

std::size_t known_events::memory_plan(std::uint32_t max_events_per_spill, std::size_t marks) {
  const std::size_t ranges = std::size_t{ranges_for(max_events_per_spill)} * spills;
  const std::size_t pages = pages_for(marks, ranges);
  return ranges * page_marks / word_bits * sizeof(std::uint64_t) +
         (pages * page_marks + ranges + pages) * sizeof(std::uint32_t);
}

std::size_t known_events::range_of(event_key key) const {
  return std::size_t{key.spill} * ranges_per_spill_ + key.number / page_marks;
}

std::size_t known_events::bit_of(event_key key) const {
  return range_of(key) * page_marks + key.number % page_marks;
}

void known_events::add(event_key key, std::uint32_t mark) {
  const std::size_t range = range_of(key);
  if (page_of_[range] == no_events) {
    constexpr std::size_t words = page_marks / word_bits;
    std::ranges::fill(std::span(bits_).subspan(range * words, words), 0);
  }
  if (page_of_[range] >= forgotten) take_page(range);
  const std::size_t bit = bit_of(key);
  bits_[bit / word_bits] |= std::uint64_t{1} << (bit % word_bits);
  marks_[std::size_t{page_of_[range]} * page_marks + key.number % page_marks] = mark;
}

void known_events::take_page(std::size_t range) {
  const std::uint32_t page = next_page_;
  next_page_ = (next_page_ + 1) % static_cast<std::uint32_t>(owners_.size());
  const std::uint32_t owner = owners_[page];
  if (owner != none && page_of_[owner] == page) page_of_[owner] = forgotten;
  owners_[page] = static_cast<std::uint32_t>(range);
  page_of_[range] = page;
  std::ranges::fill(std::span(marks_).subspan(std::size_t{page} * page_marks, page_marks), 0);
}

bool known_events::has(event_key key) const {
  const std::size_t bit = bit_of(key);
  return page_of_[range_of(key)] != no_events &&
         (bits_[bit / word_bits] >> (bit % word_bits) & 1) != 0;
}

bool known_events::has_another(event_key key, std::uint32_t mark) const {
  const std::uint32_t page = page_of_[range_of(key)];
  if (!has(key) || page == forgotten) return false;
  const std::uint32_t kept = marks_[std::size_t{page} * page_marks + key.number % page_marks];
  return kept != 0 && kept != mark;
}

void known_events::forget(std::uint32_t spill) {
  const std::size_t ranges = ranges_per_spill_;
  std::ranges::fill(std::span(page_of_).subspan(spill * ranges, ranges), no_events);
}

} // namespace l3
