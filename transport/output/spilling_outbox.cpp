// SPDX-License-Identifier: Apache-2.0
#include "transport/output/spilling_outbox.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace l3 {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t nanoseconds(std::chrono::nanoseconds t) {
  return static_cast<std::uint64_t>(t.count());
}

/// A receiver that has stored nothing for so long is taken for absent: what waits gets copies.
constexpr std::uint64_t patience = nanoseconds(1s);
/// TCP senders wait for what is in the open page.
constexpr std::uint64_t page_age = nanoseconds(100ms);
constexpr std::uint64_t retry_time = nanoseconds(100ms); ///< after an error
constexpr std::uint64_t telling_time = nanoseconds(1s);  ///< of errors
constexpr auto look_around = 20ms;

} // namespace

spilling_outbox::spilling_outbox(const outbox_settings& settings, spool_use use, outbox& memory,
                                 spool& disk, spool_backlog& backlog, std::size_t largest_event,
                                 report_function report)
    : memory_(memory), disk_(&disk), backlog_(&backlog), report_(std::move(report)), use_(use),
      own_(backlog.own_identity()), block_bytes_(settings.block.bytes),
      block_room_(sizeof(block_header) + settings.block.bytes + largest_event) {
  for (page& p : pages_) p.bytes.resize(block_room_);
  progress_at_ = steady_now();
  writer_ = std::jthread([this](const std::stop_token& stop) { write(stop); });
}

spilling_outbox::~spilling_outbox() { finish(std::chrono::steady_clock::now()); }

// --- the drain thread ---

bool spilling_outbox::append(std::span<const std::byte> packed_event, std::uint64_t completed_at) {
  if (disk_ == nullptr) return memory_.append(packed_event, completed_at);
  if (spilling_ && memory_.bytes_waiting() <= memory_.capacity() / 2) {
    seal_page(); // batches end in one open block, not in two
    spilling_ = false;
  }
  if (!spilling_) {
    if (memory_.append(packed_event, completed_at)) return true;
    memory_.seal();
    spilling_ = true;
  }
  if (append_to_page(packed_event, completed_at)) return true;
  // The disk is slow, or full: there may be room in memory by now.
  if (!memory_.append(packed_event, completed_at)) return false;
  spilling_ = false;
  return true;
}

bool spilling_outbox::append_to_page(std::span<const std::byte> event, std::uint64_t completed_at) {
  if (open_.bytes() + event.size() > block_room_) seal_page();
  if (open_.empty()) {
    const std::lock_guard guard(lock_);
    if (sealed_pages_ == page_count) return false;
    open_page_ = &pages_[(first_sealed_ + sealed_pages_) % page_count];
  }
  open_.add(open_page_->bytes.data(), event, completed_at);
  events_spilled_.add();
  if (open_.payload_bytes() >= block_bytes_) seal_page();
  return true;
}

void spilling_outbox::seal_page() {
  if (open_.empty()) return;
  page& p = *open_page_;
  p.used = open_.bytes();
  p.events = open_.events();
  p.sequence = next_sequence_++;
  p.ticket = memory_.safety().sealed(std::exchange(open_last_batch_, 0));
  open_.seal(p.bytes.data(), own_, p.sequence, wall_clock_now());
  {
    const std::lock_guard guard(lock_);
    ++sealed_pages_;
  }
  sealed_.notify_one();
}

bool spilling_outbox::wait_for_room(std::chrono::nanoseconds limit, std::size_t bytes) {
  return memory_.wait_for_room(limit, bytes);
}

void spilling_outbox::batch_done(std::uint64_t serial) {
  if (open_.empty()) {
    memory_.batch_done(serial);
  } else {
    open_last_batch_ = serial;
  }
}

void spilling_outbox::seal_if_due(std::uint64_t now) {
  memory_.seal_if_due(now);
  if (!open_.empty() && now >= open_.oldest() + page_age) seal_page();
  if (use_ == spool_use::always && memory_.last_sealed() != copied_up_to_) sealed_.notify_one();
}

void spilling_outbox::seal() {
  memory_.seal();
  seal_page();
}

// --- any thread ---

double spilling_outbox::fullness() const {
  const auto taken = static_cast<double>(memory_.bytes_waiting() + disk_bytes_);
  return taken / static_cast<double>(memory_.capacity() + disk_bytes_ + disk_room_);
}

bool spilling_outbox::all_on_disk() const {
  if (disk_ == nullptr) return false;
  const std::lock_guard guard(lock_);
  return sealed_pages_ == 0 && copied_up_to_ >= memory_.last_sealed();
}

void spilling_outbox::finish(std::chrono::steady_clock::time_point deadline) {
  if (!writer_.joinable()) return;
  deadline_ = nanoseconds(deadline.time_since_epoch());
  writer_.request_stop();
  sealed_.notify_one();
  writer_.join();
}

std::uint64_t spilling_outbox::events_waiting() const {
  if (disk_ == nullptr) return 0;
  const std::uint64_t gone = backlog_->own().delivered + backlog_->own().damaged; // first
  return events_spilled_ - gone;
}

std::uint64_t spilling_outbox::events_on_disk() const {
  if (disk_ == nullptr) return 0;
  const std::uint64_t gone = backlog_->own().delivered + backlog_->own().damaged; // first
  return events_written_ - gone + copied_events_;
}

// --- the disk's thread ---

void spilling_outbox::write(const std::stop_token& stop) {
  bool last_time = false;
  while (true) {
    const bool wrote_pages = write_pages();
    const bool copied = copy_memory(steady_now());
    release_copies();
    disk_bytes_ = disk_->totals().disk_bytes;
    disk_room_ = disk_->capacity();
    disk_full_ = disk_->full();
    if (stop.stop_requested() && steady_now() >= deadline_) return;
    if (wrote_pages || copied) continue;
    if (last_time) return; // all is written, or the disk takes no more
    std::unique_lock guard(lock_);
    sealed_.wait_for(guard, look_around, [&] {
      return stop.stop_requested() ||
             (steady_now() >= not_before_ &&
              (sealed_pages_ > 0 ||
               (use_ == spool_use::always && memory_.last_sealed() != copied_up_to_)));
    });
    last_time = stop.stop_requested();
    if (last_time) not_before_ = 0;
  }
}

bool spilling_outbox::write_pages() {
  const page* next = nullptr;
  {
    const std::lock_guard guard(lock_);
    if (sealed_pages_ == 0 || steady_now() < not_before_) return false;
    next = &pages_[first_sealed_];
  }
  if (!to_disk(std::span(next->bytes).first(next->used))) return false;
  events_written_.add(next->events);
  memory_.safety().secured(next->ticket);
  backlog_->added(next->sequence);
  const std::lock_guard guard(lock_);
  first_sealed_ = (first_sealed_ + 1) % page_count;
  --sealed_pages_;
  return true;
}

/// One block; false if none is due, or the disk takes none.
bool spilling_outbox::copy_memory(std::uint64_t now) {
  copied_ = std::max(copied_, memory_.last_stored());
  copied_up_to_ = copied_;
  if (now < not_before_ || !copies_are_due(now)) return false;
  const auto block = memory_.hold(copied_ + 1);
  if (!block) return false;
  // A disk that hangs must not keep the block's place in memory.
  copy_.assign(block->bytes.begin(), block->bytes.end());
  const auto ticket = outbox::ticket_of(block->hold);
  block->hold->release();
  if (!to_disk(copy_)) return false;
  memory_.safety().secured(ticket);
  copies_.push_back({++copied_, load<block_header>(copy_.data()).events});
  copied_events_ += copies_.back().events;
  copied_up_to_ = copied_;
  return true;
}

bool spilling_outbox::copies_are_due(std::uint64_t now) {
  if (use_ == spool_use::always || copy_all_) return true;
  const std::uint64_t stored = memory_.last_stored();
  if (stored != std::exchange(seen_stored_, stored) || memory_.blocks_waiting() == 0)
    progress_at_ = now;
  return now >= progress_at_ + patience || memory_.bytes_waiting() > memory_.capacity() / 2;
}

/// Of blocks that the receiver has stored meanwhile.
void spilling_outbox::release_copies() {
  const std::uint64_t stored = memory_.last_stored();
  if (copies_.empty() || copies_.front().sequence > stored) return;
  (void)disk_->release(memory_.identity().session, stored);
  for (; !copies_.empty() && copies_.front().sequence <= stored; copies_.pop_front())
    copied_events_ -= copies_.front().events;
}

bool spilling_outbox::to_disk(std::span<const std::byte> block) {
  const auto error = disk_->append(block);
  if (error) {
    write_errors_.add();
    not_before_ = steady_now() + retry_time;
  }
  tell(error);
  return !error;
}

/// A full disk that is being emptied takes a block now and then: only what lasts is told.
void spilling_outbox::tell(const std::error_code& error) {
  const auto now = steady_now();
  if (!error) {
    refused_since_ = 0;
    if (std::exchange(told_, {}) && report_) report_("the spool takes blocks again");
    return;
  }
  if (refused_since_ == 0) refused_since_ = now;
  if (now < refused_since_ + telling_time || error == told_) return;
  told_ = error;
  if (!report_) return;
  report_("the spool takes nothing now: " +
          (error == std::errc::no_space_on_device
               ? "no room within spool.size, above spool.floor, or on the disk at all"
               : error.message()));
}

} // namespace l3
