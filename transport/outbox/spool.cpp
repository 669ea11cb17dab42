// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/spool.hpp"

#include <algorithm>
#include <cassert>

#include <fcntl.h>
#include <sys/statvfs.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

/// Attempts to read a block, at least a tenth of a second apart, before the error counts as final.
constexpr std::uint64_t most_failures = 1000;

std::uint64_t above(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

} // namespace

std::uint64_t free_bytes(int folder) {
  struct statvfs s {};
  return ::fstatvfs(folder, &s) == 0 ? std::uint64_t{s.f_bavail} * s.f_frsize : 0;
}

// --- the writing thread ---

spool::~spool() { close_segment(); }

std::error_code spool::append(std::span<const std::byte> block) {
  block_header header;
  [[maybe_unused]] const auto fault = read_block_header(block, header);
  assert(fault == block_fault::none && block.size() == sizeof header + header.payload_bytes);
  {
    const std::lock_guard guard(lock_);
    if (const auto* lane = index_.find(header.session)) {
      if (header.sequence <= lane->released) return {};
      const auto* there = index_.find_block(header.session, header.sequence);
      if (there != nullptr && there->bytes != 0) return {};
    }
  }
  if (const auto error = write(block)) return error;
  flushes_fail_ = false;
  room_wanted_ = 0;
  failing_since_.reset();
  bool needed = false;
  std::uint64_t released = 0;
  {
    const std::lock_guard guard(lock_);
    index_.resize_segment(segment_.number(), segment_.end());
    needed = index_.add_block(header, segment_.number(), segment_.end() - block.size());
    released = index_.find(header.session)->released;
  }
  releases_.note(header.session, released, needed ? header.sequence : released);
  return {};
}

/// Writes after the segment's last block.
std::error_code spool::write(std::span<const std::byte> block) {
  if (const auto error = prepare_segment(block.size())) return error;
  const auto offset = segment_.end();
  std::error_code error = segment_.append(block);
  if (!error && system_.flush != nullptr) error = segment_.flush(system_.flush);
  if (!error && flushes_fail_) error = segment_.flush(flushing_->how());
  if (!error) {
    error = segment_.check();
    if (error == std::errc::no_such_file_or_directory) end_without(segment_.number());
  }
  if (const std::string why = error ? "" : folder_.why_gone(); !why.empty()) {
    end(why);
    error = std::make_error_code(std::errc::no_such_file_or_directory);
  }
  if (!error) return {};
  segment_.cut(offset);
  return refuse(error, block.size(), true);
}

std::error_code spool::flush_in_background(time_point now) {
  if (!flushing_) return {};
  if (const auto failed = flushing_->take_failure()) {
    flushes_fail_ = true;
    if (segment_.number() == failed->file) segment_.give_up();
    return failed->error;
  }
  if (segment_.end() == flushed_end_ || !flushing_->is_due(now)) return {};
  flushing_->add(segment_);
  flushed_end_ = segment_.end();
  return {};
}

/// Opens a segment with room for the block, if the disk has room too.
std::error_code spool::prepare_segment(std::uint64_t bytes) {
  if (!segment_.is_sound() || segment_.is_full_for(bytes, segment_bytes_)) close_segment();
  const auto wanted = [&] { return bytes + (segment_.is_open() ? 0 : sizeof(store_file_header)); };
  if (room(false) < wanted() && room(true) >= bytes + sizeof(store_file_header)) close_segment();
  if (room(false) < wanted()) {
    return refuse(std::make_error_code(std::errc::no_space_on_device), wanted(), false);
  }
  if (segment_.is_open()) return {};
  const auto error = segment_.open(folder_, next_number_, store_kind::spool, system_.flush);
  if (error) return refuse(error, wanted(), true);
  ++next_number_;
  const std::lock_guard guard(lock_);
  index_.add_segment(segment_.number(), segment_.end());
  written_segment_ = segment_.number();
  return {};
}

void spool::close_segment() {
  if (!segment_.is_open()) return;
  std::vector<std::uint64_t> free;
  {
    const std::lock_guard guard(lock_);
    index_.let_go(std::exchange(written_segment_, 0));
    free = index_.take_free();
  }
  if (flushing_ && segment_.is_sound()) flushing_->add(segment_);
  flushed_end_ = 0;
  segment_.close();
  remove(free);
}

std::error_code spool::refuse(std::error_code error, std::uint64_t bytes, bool by_system) {
  if (!is_want_of_room(error)) {
    room_wanted_ = 0;
    const time_point now = steady_clock::now();
    if (!failing_since_) failing_since_ = now;
    if (now - *failing_since_ >= system_.longest_failure)
      end("the disk of " + folder_.path().string() +
          " has refused every block for a minute: " + error.message());
  } else {
    failing_since_.reset();
    // If the system reports ENOSPC although there seems to be room, it needs more than that.
    room_wanted_ = by_system ? std::max(bytes, capacity() + 1) : bytes;
    error = std::make_error_code(std::errc::no_space_on_device);
  }
  return error;
}

/// On request the file being written counts as room if none of its blocks is needed: the next
/// append releases it if necessary.
std::uint64_t spool::room(bool with_written_segment) const {
  std::uint64_t taken = 0;
  std::uint64_t freed = 0;
  {
    const std::lock_guard guard(lock_);
    if (index_.all().blocks >= system_.most_blocks) return 0;
    taken = index_.all().disk_bytes;
    if (with_written_segment) freed = index_.bytes_without_need(written_segment_);
  }
  return std::min(above(size_, taken - freed),
                  above(system_.free_bytes(folder_.get()) + freed, floor_));
}

// --- the reading thread ---

spool::read_result spool::read(std::uint64_t session, std::uint64_t sequence,
                               std::vector<std::byte>& to) {
  const read_result not_here{std::make_error_code(std::errc::no_such_file_or_directory)};
  spool_place place;
  block_header empty;
  {
    const std::lock_guard guard(lock_);
    const auto* lane = index_.find(session);
    // A gap before the first block counts, too: a forwarder asks for it when all blocks before it
    // are acknowledged.
    if (lane == nullptr || lane->blocks.empty() || sequence <= lane->released ||
        sequence > lane->blocks.back().sequence) {
      return not_here;
    }
    if (const auto* found = index_.find_block(session, sequence)) {
      place = *found;
    } else {
      index_.mark_missing(session, sequence);
    }
    empty.session = session;
    empty.sequence = sequence;
    empty.run = lane->run;
    empty.node = lane->node;
  }
  if (place.bytes != 0) { // otherwise it is missing, or known to be damaged
    const auto error = fetch(place, to);
    block_header header;
    if (!error && check_block_and_events(to, header) == block_fault::none &&
        header.session == session && header.sequence == sequence) {
      return {.error = {}, .whole = true};
    }
    std::unique_lock guard(lock_);
    // It was released while being read, and its file removed: no loss.
    if (index_.find_block(session, sequence) == nullptr) return not_here;
    if (error == std::errc::no_such_file_or_directory) {
      guard.unlock();
      end_without(place.segment);
      return {error};
    }
    if (may_pass(error, place)) return {error};
    index_.mark_damaged(session, sequence);
  }
  empty.payload_crc = crc32c({});
  seal_header(empty);
  to.resize(sizeof empty);
  store(to.data(), empty);
  return {.error = {}, .lost_events = place.events};
}

/// A disk that refuses the bytes now may return them later; a file that ends before them never
/// will.
bool spool::may_pass(const std::error_code& error, const spool_place& place) {
  if (!error || error == std::errc::result_out_of_range) return false;
  const bool again = place.segment == failed_.segment && place.offset == failed_.offset;
  failures_ = again ? failures_ + 1 : 1;
  failed_ = place;
  return failures_ < most_failures;
}

/// Reads the bytes at a place, unchecked.
std::error_code spool::fetch(const spool_place& place, std::vector<std::byte>& to) const {
  if (place.bytes > to.capacity()) { // resize() would take up to twice as much
    std::vector<std::byte>().swap(to);
    to.reserve(place.bytes);
  }
  const file_descriptor file(
      ::openat(folder_.get(), name_of(place.segment).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return last_error();
  to.resize(place.bytes);
  return read_all(file.get(), place.offset, to);
}

// --- any thread ---

spool_index::released spool::release(std::uint64_t session, std::uint64_t up_to) {
  spool_index::released gone;
  std::vector<std::uint64_t> free;
  {
    const std::lock_guard guard(lock_);
    gone = index_.release(session, up_to);
    free = index_.take_free();
  }
  if (gone.blocks > 0) releases_.note(session, up_to);
  remove(free);
  return gone;
}

/// A file that cannot be removed keeps the entries of its lanes.
void spool::remove(const std::vector<std::uint64_t>& segments) {
  for (const auto number : segments) {
    if (folder_.remove(name_of(number)) != 0 && errno != ENOENT) continue;
    {
      const std::lock_guard guard(lock_);
      index_.forget_segment(number);
    }
    forget_releases();
  }
}

/// Clears the entries of sessions without a block on disk.
void spool::forget_releases() {
  const auto is_on_disk = [&](std::uint64_t session) {
    const std::lock_guard guard(lock_);
    return index_.on_disk(session);
  };
  for (const spool_release& noted : releases_.notes())
    if (!is_on_disk(noted.session)) releases_.forget(noted);
}

void spool::end(std::string why) {
  const std::lock_guard guard(lock_);
  if (why_ended_.empty()) why_ended_ = std::move(why);
}

void spool::end_without(std::uint64_t segment) {
  end((folder_.path() / name_of(segment)).string() + " was removed while the daemon used it");
}

std::string spool::why_ended() const {
  const std::lock_guard guard(lock_);
  return why_ended_;
}

std::optional<spool::waiting_lane> spool::lane(std::uint64_t session) const {
  const std::lock_guard guard(lock_);
  const auto* lane = index_.find(session);
  if (lane == nullptr || lane->blocks.empty()) return std::nullopt;
  return waiting_lane{lane->blocks.front().sequence, lane->blocks.back().sequence, lane->events};
}

std::uint64_t spool::lost_events(std::uint64_t session) const {
  const std::lock_guard guard(lock_);
  const auto* lane = index_.find(session);
  return lane == nullptr ? 0 : lane->lost;
}

spool_totals spool::totals() const {
  const std::lock_guard guard(lock_);
  return index_.all();
}

bool spool::full() const {
  const std::uint64_t wanted = room_wanted_;
  return wanted != 0 && capacity() < wanted;
}

} // namespace l3
