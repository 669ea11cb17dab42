// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/spilling_outbox.hpp"

#include <algorithm>
#include <utility>

#include <poll.h>

namespace l3 {

namespace {

using namespace std::chrono_literals;

/// A receiver that has stored nothing for this time counts as absent: waiting blocks get copies.
constexpr auto patience = 1s;
/// TCP senders wait for events in the open block of the disk's outbox.
constexpr auto spilled_block_age = 100ms;
constexpr std::size_t blocks_on_their_way = 8;
constexpr auto pause_after_error = 100ms;
constexpr auto telling_time = 1s; ///< time between two reports of errors
constexpr auto alarm_time = 4s;   ///< how long the alarm lasts after an error
constexpr int look_around_ms = 20;
constexpr int look_around_idle_ms = 100; ///< while no block waits in memory

std::size_t room_of_block(const outbox_settings& s, std::size_t largest_event,
                          std::size_t settings_bytes, std::size_t largest_once) {
  return sizeof(block_header) + s.block.bytes + largest_event + settings_bytes + largest_once;
}

outbox_settings way_to_disk(const outbox_settings& s, std::size_t block_room) {
  return {.memory = {blocks_on_their_way * block_room},
          .block = s.block,
          .block_age = spilled_block_age,
          .codec = s.codec};
}

} // namespace

spilling_outbox::spilling_outbox(const outbox_settings& settings, spool_use use, outbox& memory,
                                 spool& disk, spool_backlog& backlog, safe_batches& safety,
                                 std::size_t largest_event, report_function report,
                                 const std::vector<std::byte>& decided_by, std::size_t largest_once)
    : memory_(memory), disk_(&disk), backlog_(&backlog), report_(std::move(report)), use_(use),
      block_room_(room_of_block(settings, largest_event, decided_by.size(), largest_once)),
      progress_at_(steady_clock::now()) {
  way_to_disk_.emplace(way_to_disk(settings, block_room_), backlog.own().identity, safety,
                       decided_by);
  writer_ = std::jthread([this](const std::stop_token& stop) { write(stop); });
}

spilling_outbox::~spilling_outbox() { finish(steady_clock::now()); }

// --- the drain thread ---

bool spilling_outbox::append(std::span<const std::byte> packed_event, time_point completed_at) {
  if (!way_to_disk_) return memory_.append(packed_event, completed_at);
  if (spilling_ && memory_.bytes_waiting() <= memory_.capacity() / 2) {
    way_to_disk_->seal(); // batches must end in one open block, not in two
    spilling_ = false;
  }
  if (!spilling_) {
    if (memory_.append(packed_event, completed_at)) return true;
    memory_.seal();
    spilling_ = true;
  }
  if (way_to_disk_->append(packed_event, completed_at)) return true;
  // The disk is slow or full; memory may have room by now.
  if (!memory_.append(packed_event, completed_at)) return false;
  spilling_ = false;
  return true;
}

bool spilling_outbox::wait_for_room(std::chrono::nanoseconds limit, std::size_t bytes) {
  return memory_.wait_for_room(limit, bytes);
}

void spilling_outbox::batch_done(std::uint64_t serial) {
  (way_to_disk_ && way_to_disk_->has_open_block() ? *way_to_disk_ : memory_).batch_done(serial);
}

void spilling_outbox::seal_if_due(time_point now) {
  memory_.seal_if_due(now);
  if (!way_to_disk_) return;
  way_to_disk_->seal_if_due(now);
  if (use_ == spool_use::always && memory_.last_sealed() != copied_) way_to_disk_->bell().wake();
}

void spilling_outbox::seal() {
  memory_.seal();
  if (way_to_disk_) way_to_disk_->seal();
}

bool spilling_outbox::add_once(std::vector<std::byte> entries) {
  return (spilling_ && way_to_disk_ ? *way_to_disk_ : memory_).add_once(std::move(entries));
}

bool spilling_outbox::seal_once() {
  const bool memory = memory_.seal_once();
  return (!way_to_disk_ || way_to_disk_->seal_once()) && memory;
}

std::size_t spilling_outbox::once_waiting() const {
  return memory_.once_waiting() + (way_to_disk_ ? way_to_disk_->once_waiting() : 0);
}

// --- any thread ---

double spilling_outbox::fullness() const {
  const auto taken = static_cast<double>(memory_.bytes_waiting() + disk_bytes_);
  return taken / static_cast<double>(memory_.capacity() + disk_bytes_ + disk_room_);
}

bool spilling_outbox::all_on_disk() const {
  return way_to_disk_ && way_to_disk_->blocks_waiting() == 0 && copied_ >= memory_.last_sealed();
}

void spilling_outbox::finish(time_point deadline) {
  if (!writer_.joinable()) return;
  deadline_ = deadline;
  writer_.request_stop();
  way_to_disk_->bell().wake();
  writer_.join();
}

std::uint64_t spilling_outbox::events_waiting() const {
  if (!way_to_disk_) return 0;
  const backlog_lane& own = backlog_->own();
  const std::uint64_t gone = own.delivered + disk_->lost_events(own.identity.session); // first
  return events_spilled() - gone;
}

std::uint64_t spilling_outbox::events_on_disk() const {
  if (!way_to_disk_ || !disk_->why_ended().empty()) return 0;
  const auto copies = disk_->lane(memory_.lane().identity.session);
  const auto spilled = disk_->lane(backlog_->own().identity.session);
  return (copies ? copies->events : 0) + (spilled ? spilled->events : 0);
}

std::size_t spilling_outbox::memory_plan(const outbox_settings& settings, std::size_t largest_event,
                                         std::size_t settings_bytes, std::size_t largest_once,
                                         std::size_t longest_found) {
  const std::size_t room = room_of_block(settings, largest_event, settings_bytes, largest_once);
  return outbox::memory_plan(way_to_disk(settings, room)) +
         std::max(room, longest_found) * spool_backlog::buffers;
}

// --- the disk's thread ---

void spilling_outbox::write(const std::stop_token& stop) {
  bool last_time = false;
  while (true) {
    const time_point now = steady_clock::now();
    const bool wrote = write_spilled(now);
    const bool copied = copy_memory(now);
    if (const auto error = disk_->flush_in_background(now)) {
      write_errors_.add();
      failed_at_ = now;
      report_("the disk did not keep blocks of the spool: " + error.message());
    }
    release_copies();
    disk_bytes_ = disk_->totals().disk_bytes;
    disk_room_ = disk_->capacity();
    disk_full_ = disk_->full();
    disk_failing_ = failed_at_ && now < *failed_at_ + alarm_time;
    if (stop.stop_requested() && steady_clock::now() >= deadline_.load()) return;
    if (wrote || copied) continue;
    if (last_time) return; // everything is written, or the disk accepts no more
    pollfd bell{way_to_disk_->bell().descriptor(), POLLIN, 0};
    const bool waits = memory_.blocks_waiting() + way_to_disk_->blocks_waiting() != 0;
    (void)::poll(&bell, 1, waits ? look_around_ms : look_around_idle_ms);
    way_to_disk_->bell().clear();
    last_time = stop.stop_requested();
    if (last_time) not_before_ = {};
  }
}

/// Writes one block; returns false if none waits, or the disk accepts none.
bool spilling_outbox::write_spilled(time_point now) {
  if (now < not_before_) return false;
  const std::uint64_t sequence = way_to_disk_->last_stored() + 1;
  const auto block = way_to_disk_->hold(sequence);
  if (!block || !to_disk(block.bytes)) return false;
  way_to_disk_->stored_up_to(sequence, now);
  backlog_->bell().wake();
  return true;
}

/// Copies one block; returns false if none is due, or the disk accepts none.
bool spilling_outbox::copy_memory(time_point now) {
  const std::uint64_t stored = memory_.last_stored();
  const std::uint64_t sequence = std::max<std::uint64_t>(copied_, stored) + 1;
  copied_ = sequence - 1;
  if (now < not_before_ || !copies_are_due(now)) return false;
  if (const auto block = memory_.hold(sequence)) {
    // A hanging disk must not hold the block's place in memory.
    copy_.assign(block.bytes.begin(), block.bytes.end());
  } else {
    return false;
  }
  // The next start must not take blocks stored without a copy for lost copies.
  if (sequence - 1 == stored) (void)disk_->release(memory_.lane().identity.session, stored);
  if (!to_disk(copy_)) return false;
  memory_.secured(sequence);
  copied_ = sequence;
  return true;
}

bool spilling_outbox::copies_are_due(time_point now) {
  if (use_ == spool_use::always || copy_all_) return true;
  const std::uint64_t stored = memory_.last_stored();
  if (stored != std::exchange(seen_stored_, stored) || memory_.blocks_waiting() == 0)
    progress_at_ = now;
  return now >= progress_at_ + patience || memory_.bytes_waiting() > memory_.capacity() / 2;
}

/// Releases the copies of blocks that the receiver has stored.
void spilling_outbox::release_copies() {
  const lane_state now = memory_.lane();
  const auto copies = disk_->lane(now.identity.session);
  if (copies && copies->first <= now.stored) (void)disk_->release(now.identity.session, now.stored);
}

bool spilling_outbox::to_disk(std::span<const std::byte> block) {
  const auto error = disk_->append(block);
  const time_point now = steady_clock::now();
  if (error) {
    write_errors_.add();
    not_before_ = now + pause_after_error;
    note_failure(error, now);
  }
  tell(error, now);
  return !error;
}

/// One error sets the alarm: a disk that accepts every second block delays senders as well.
void spilling_outbox::note_failure(const std::error_code& error, time_point now) {
  if (error == std::errc::no_space_on_device) return;
  failed_at_ = now;
  if (disk_failing_.exchange(true) || !report_) return;
  report_("the disk refuses a block of the spool: " + error.message() +
          "; the write is retried until it succeeds");
}

/// A full disk that is being emptied accepts a block now and then, so only a lasting error is
/// reported.
void spilling_outbox::tell(const std::error_code& error, time_point now) {
  if (!error) {
    refused_since_.reset();
    if (std::exchange(told_, {}) && report_) report_("the spool accepts blocks again");
    return;
  }
  if (!refused_since_) refused_since_ = now;
  if (now < *refused_since_ + telling_time || error == told_) return;
  told_ = error;
  if (!report_) return;
  report_("the spool accepts no blocks: " +
          (error == std::errc::no_space_on_device
               ? "no room within spool.size, above spool.floor, or on the disk"
               : error.message()));
}

} // namespace l3
