// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/outbox.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <sys/mman.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/time.hpp"
#include "transport/store/block.hpp"

namespace l3 {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t block_alignment = 64;

// The tables beside the ring are limited too. Blocks sealed by age may be small and events tiny. If
// they are smaller than this on average, a table is full before the ring is. The limit costs less
// than 1 % of the ring's memory.
constexpr std::uint64_t smallest_mean_block = 4096;
constexpr std::uint64_t smallest_mean_event = 1024;
constexpr std::uint64_t fewest_slots = 64;
constexpr std::uint64_t fewest_times = 1024;
/// The settings are sent with one block per this multiple of their length: a receiver that did not
/// get the first block, because another one stored it, soon has them.
constexpr std::uint64_t settings_once_in = 256;
constexpr std::uint64_t least_between_settings = std::uint64_t{16} << 20;

std::uint64_t capacity_of(const outbox_settings& s) { return round_up(s.memory.bytes, page); }

std::uint64_t slots_for(std::uint64_t capacity) {
  return std::max(fewest_slots, capacity / smallest_mean_block);
}

std::uint64_t times_for(std::uint64_t capacity) {
  return std::max(fewest_times, capacity / smallest_mean_event);
}

} // namespace

outbox::outbox(const outbox_settings& settings, const block_identity& identity,
               safe_batches& safety, std::vector<std::byte> decided_by)
    : capacity_(capacity_of(settings)), block_bytes_(settings.block.bytes),
      block_age_(settings.block_age), codec_(settings.codec), identity_(identity), safety_(safety),
      decided_by_(std::move(decided_by)),
      between_settings_(std::max(least_between_settings, settings_once_in * decided_by_.size())),
      slots_(slots_for(capacity_)), times_(times_for(capacity_)) {
  if (block_bytes_ == 0 || block_bytes_ > largest_block_setting.bytes) {
    throw std::invalid_argument("a block must be between 1 B and 32 MiB");
  }
  if (decided_by_.size() > max_settings_bytes)
    throw std::invalid_argument("a block has no room for such long settings");
  if (capacity_ < 2 * (block_bytes_ + sizeof(block_header) + decided_by_.size())) {
    throw std::invalid_argument("the outbox must have room for two blocks");
  }
  void* const memory = ::mmap(nullptr, capacity_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "memory of the outbox");
  }
  ring_ = static_cast<std::byte*>(memory);
}

outbox::~outbox() {
  assert(std::all_of(slots_.begin(), slots_.end(), [](const slot& s) { return s.holds == 0; }));
  ::munmap(ring_, capacity_);
}

bool outbox::times_full() const {
  return next_time_ - time_tail_.load(std::memory_order_acquire) == times_.size();
}

bool outbox::fits_in_open(std::size_t bytes) const {
  const std::uint64_t end = open_.start + open_.bytes + bytes + settings_of(open_);
  const std::uint64_t lap_end = open_.start - open_.start % capacity_ + capacity_;
  return end <= lap_end && end <= tail_.load(std::memory_order_acquire) + capacity_ &&
         !times_full();
}

/// Blocks are contiguous: one that does not fit before the end of the ring begins at its start.
std::uint64_t outbox::start_for(std::size_t bytes) const {
  const std::uint64_t left = capacity_ - sealed_end_ % capacity_;
  return sizeof(block_header) + bytes <= left ? sealed_end_ : sealed_end_ + left;
}

bool outbox::fits_as_new(std::size_t bytes) const {
  const std::uint64_t start = start_for(bytes);
  std::uint64_t tail = tail_.load(std::memory_order_acquire);
  if (tail == sealed_end_) tail = start; // the ring is empty
  const std::uint64_t blocks =
      sealed_.load(std::memory_order_relaxed) - reused_.load(std::memory_order_acquire);
  return start + sizeof(block_header) + bytes <= tail + capacity_ && blocks < slots_.size() &&
         !times_full();
}

bool outbox::make_room(std::size_t bytes) {
  if (has_open_block()) {
    if (fits_in_open(bytes)) return true;
    seal(); // so that it can be sent
  }
  return fits_as_new(bytes + settings_of_next());
}

bool outbox::append(std::span<const std::byte> packed_event, time_point completed_at) {
  if (!make_room(packed_event.size())) return false;
  if (!has_open_block()) begin_block(packed_event.size());
  std::byte* const to = at(open_.start) + open_.bytes;
  std::memcpy(to, packed_event.data(), packed_event.size());
  open_.payload_crc = crc32c({to, packed_event.size()}, open_.payload_crc);
  open_.bytes += static_cast<std::uint32_t>(packed_event.size());
  open_.oldest = std::min(open_.oldest, completed_at);
  ++open_.events;
  times_[next_time_++ % times_.size()] = completed_at;
  events_appended_.add();
  bytes_appended_.add(packed_event.size());
  if (open_.bytes >= sizeof(block_header) + block_bytes_) seal();
  return true;
}

/// Entries written once are added if there is room; an event never waits for them.
void outbox::begin_block(std::size_t bytes) {
  open_.with_settings = settings_of_next() != 0;
  if (!once_.empty() && fits_as_new(bytes + decided_by_.size() + once_.front().size())) {
    open_.with_settings = true;
    open_.once = std::move(once_.front());
    once_.pop_front();
  }
  open_.start = start_for(bytes + settings_of(open_));
}

bool outbox::add_once(std::vector<std::byte> entries) {
  std::size_t waiting = entries.size();
  for (const auto& other : once_) waiting += other.size();
  if (decided_by_.size() + entries.size() > max_settings_bytes || waiting > most_once_bytes ||
      sizeof(block_header) + decided_by_.size() + entries.size() > capacity_)
    return false;
  once_.push_back(std::move(entries));
  return true;
}

bool outbox::seal_once() {
  while (!once_.empty()) {
    seal();
    if (!fits_as_new(decided_by_.size() + once_.front().size())) return false;
    begin_block(0);
    seal_open();
  }
  return true;
}

bool outbox::wait_for_room(std::chrono::nanoseconds limit, std::size_t bytes) {
  const std::size_t all = bytes + settings_of_next();
  if (sizeof(block_header) + all > capacity_) return false;
  if (make_room(bytes)) return true;
  std::unique_lock guard(lock_);
  return room_.wait_for(guard, limit, [&] { return fits_as_new(all); });
}

void outbox::batch_done(std::uint64_t serial) {
  if (!has_open_block()) {
    safety_.batch_done(serial);
  } else {
    open_.last_batch = serial;
  }
}

/// Into the reserved room.
void outbox::add_settings() {
  since_settings_ = open_.with_settings ? 0 : since_settings_ + open_.bytes;
  if (!open_.with_settings) return;
  add_to_open(decided_by_);
  add_to_open(open_.once);
}

void outbox::add_to_open(std::span<const std::byte> entries) {
  if (entries.empty()) return;
  std::memcpy(at(open_.start) + open_.bytes, entries.data(), entries.size());
  open_.payload_crc = crc32c(entries, open_.payload_crc);
  open_.bytes += static_cast<std::uint32_t>(entries.size());
  bytes_appended_.add(entries.size());
}

void outbox::seal() {
  if (has_open_block()) seal_open();
}

void outbox::seal_open() {
  add_settings();
  const open_block sealed = std::exchange(open_, {});
  block_header header;
  header.codec = codec_;
  set_settings(header, settings_of(sealed));
  header.payload_bytes = sealed.bytes - static_cast<std::uint32_t>(sizeof header);
  header.events = sealed.events;
  header.session = identity_.session;
  header.sequence = sealed_.load(std::memory_order_relaxed) + 1;
  header.run = identity_.run;
  header.node = identity_.node;
  header.sealed_at = nanoseconds_since_1970();
  header.payload_crc = sealed.payload_crc;
  seal_header(header);
  store(at(sealed.start), header);
  sealed_end_ = round_up(sealed.start + sealed.bytes, block_alignment);
  const auto ticket = safety_.sealed(sealed.last_batch);
  {
    const std::lock_guard guard(lock_);
    slot_of(header.sequence) = {.start = sealed.start,
                                .end = sealed_end_,
                                .first_time = next_time_ - sealed.events,
                                .ticket = ticket,
                                .bytes = sealed.bytes,
                                .events = sealed.events};
    sealed_.store(header.sequence, std::memory_order_release);
  }
  bell().wake();
}

held_block outbox::hold(std::uint64_t sequence) {
  const std::lock_guard guard(lock_);
  if (sequence <= stored_ || sequence > sealed_) return {};
  slot& s = slot_of(sequence);
  ++s.holds;
  return {{at(s.start), s.bytes}, {&s, [this](slot* held) { let_go(*held); }}};
}

void outbox::let_go(slot& held) {
  const std::lock_guard guard(lock_);
  --held.holds;
  reuse_released();
}

void outbox::secured(std::uint64_t sequence) {
  const std::lock_guard guard(lock_);
  if (sequence > stored_) safety_.secured(slot_of(sequence).ticket);
}

void outbox::stored_up_to(std::uint64_t sequence, time_point now) {
  const std::uint64_t before = stored_.load(std::memory_order_relaxed);
  if (sequence <= before || sequence > last_sealed()) return;
  // A slot's data about its events are final, and the slot is not reused before stored_ has moved.
  std::uint64_t time_tail = 0, events = 0, bytes = 0;
  for (std::uint64_t i = before + 1; i <= sequence; ++i) {
    const slot& s = slot_of(i);
    for (std::uint64_t t = s.first_time; t < s.first_time + s.events; ++t) {
      latency_.add(now - times_[t % times_.size()]);
    }
    time_tail = s.first_time + s.events;
    events += s.events;
    bytes += s.bytes - sizeof(block_header);
  }
  time_tail_.store(time_tail, std::memory_order_release);
  const std::lock_guard guard(lock_);
  for (std::uint64_t i = before + 1; i <= sequence; ++i) safety_.secured(slot_of(i).ticket);
  stored_.store(sequence, std::memory_order_release);
  // Last, so that a reader that sees no waiting event sees all their counts.
  events_stored_.add(events);
  bytes_stored_.add(bytes);
  reuse_released();
}

void outbox::reuse_released() {
  std::uint64_t next = reused_.load() + 1;
  if (next > stored_.load() || slot_of(next).holds > 0) return;
  for (; next <= stored_.load() && slot_of(next).holds == 0; ++next) {
    tail_.store(slot_of(next).end, std::memory_order_release);
    reused_.store(next, std::memory_order_release);
  }
  room_.notify_one();
}

std::size_t outbox::memory_plan(const outbox_settings& settings) {
  const std::uint64_t capacity = capacity_of(settings);
  return capacity + slots_for(capacity) * sizeof(slot) + times_for(capacity) * sizeof(time_point);
}

std::uint64_t outbox::blocks_waiting() const {
  const std::uint64_t stored = last_stored(); // first, so that the difference is not negative
  return last_sealed() - stored;
}

std::uint64_t outbox::events_waiting() const {
  const std::uint64_t stored = events_stored_; // first, so that the difference is not negative
  return events_appended_ - stored;
}

std::uint64_t outbox::bytes_waiting() const {
  const std::uint64_t stored = bytes_stored_;
  return bytes_appended_ - stored;
}

} // namespace l3
