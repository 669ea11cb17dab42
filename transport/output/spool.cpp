// SPDX-License-Identifier: Apache-2.0
#include "transport/output/spool.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <stdexcept>

#include <fcntl.h>
#include <sys/statvfs.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

/// Attempts at one block, a tenth of a second or more apart, before the disk is taken at its word.
constexpr std::uint64_t most_failures = 1000;

bool is_want_of_room(const std::error_code& error) {
  return error == std::errc::no_space_on_device ||
         error == std::error_code(EDQUOT, std::generic_category());
}

std::uint64_t above(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

} // namespace

std::uint64_t free_bytes(int folder) {
  struct statvfs s {};
  return ::fstatvfs(folder, &s) == 0 ? std::uint64_t{s.f_bavail} * s.f_frsize : 0;
}

// --- the writing thread ---

spool::~spool() { (void)close_segment(); }

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
  if (fault_) {
    if (const auto error = put_in_place(fault_)) return refuse(error, block.size(), true);
  }
  if (const auto error = write(block)) return error;
  room_wanted_ = 0;
  refusal_.clear();
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

/// Writes behind the segment's last block. If the names lead elsewhere by now, it is written once
/// more, into a segment that is in its place.
std::error_code spool::write(std::span<const std::byte> block) {
  std::error_code error;
  if (refusal_ && !attempt_.is_over(system_.now())) return refusal_;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if ((error = prepare_segment(block.size()))) return error;
    const auto offset = segment_.end();
    error = segment_.append(block);
    if (!error && system_.flush != nullptr) {
      error = segment_.flush(system_.flush);
      if (error) segment_.cut(offset);
    }
    if (error) break;
    const auto fault = segment_.check(*folder_);
    if (!fault) return {};
    segment_.cut(offset);
    if ((error = put_in_place(fault))) break;
    error = fault;
  }
  return refuse(error, block.size(), true);
}

/// A segment with room for the block, on a disk with room for it.
std::error_code spool::prepare_segment(std::uint64_t bytes) {
  if (!segment_.is_sound() || segment_.is_full_for(bytes, segment_bytes_)) {
    if (const auto error = close_segment()) return refuse(error, bytes, true);
  }
  const auto wanted = [&] { return bytes + (segment_.is_open() ? 0 : sizeof(store_file_header)); };
  if (room(false) < wanted() && room(true) >= bytes + sizeof(store_file_header)) {
    if (const auto error = close_segment()) return refuse(error, bytes, true);
  }
  if (room(false) < wanted()) {
    return refuse(std::make_error_code(std::errc::no_space_on_device), wanted(), false);
  }
  if (segment_.is_open()) return {};
  if (const auto error = open_segment(segment_)) return refuse(error, wanted(), true);
  return {};
}

std::error_code spool::open_segment(block_file& made) {
  const auto error = made.open(*folder_, next_number_, store_kind::spool, system_.flush);
  // A name that is taken is not tried for ever.
  if (!error || error == std::errc::file_exists) ++next_number_;
  if (error) return error;
  const std::lock_guard guard(lock_);
  index_.add_segment(made.number(), made.end());
  files_[made.number()] = {made.descriptor(), {made.identity()}};
  written_segment_ = made.number();
  return {};
}

/// Only the open file has the blocks if another program has removed its name.
std::error_code spool::close_segment() {
  if (!segment_.is_open()) return {};
  if (const auto fault = segment_.check(*folder_)) {
    if (const auto error = put_in_place(fault)) return error;
  }
  std::vector<std::uint64_t> free;
  {
    const std::lock_guard guard(lock_);
    index_.let_go(std::exchange(written_segment_, 0));
    files_[segment_.number()] = {nullptr, segment_.as_it_is()};
    free = index_.take_free();
  }
  segment_.close();
  remove(free);
  return {};
}

std::error_code spool::refuse(std::error_code error, std::uint64_t bytes, bool by_system) {
  if (!is_want_of_room(error)) {
    room_wanted_ = 0;
  } else {
    // If the system says so although there seems to be room, it takes more than there seems to be.
    room_wanted_ = by_system ? std::max(bytes, capacity() + 1) : bytes;
    error = std::make_error_code(std::errc::no_space_on_device);
  }
  // What is known without a try costs nothing, and names have a pause of their own.
  if (by_system && !is_name_fault(error)) refusal_ = error;
  return error;
}

/// The file being written counts as room if it is asked for and no block in it is needed: the next
/// append gives it up, if it has to.
std::uint64_t spool::room(bool with_written_segment) const {
  std::uint64_t taken = 0;
  std::uint64_t freed = 0;
  const auto on = folder();
  {
    const std::lock_guard guard(lock_);
    if (index_.all().blocks >= system_.most_blocks) return 0;
    taken = index_.all().disk_bytes;
    if (with_written_segment) freed = index_.bytes_without_need(written_segment_);
  }
  return std::min(above(size_, taken - freed),
                  above(system_.free_bytes(on->get()) + freed, floor_));
}

// --- the reading thread ---

spool::read_result spool::read(std::uint64_t session, std::uint64_t sequence,
                               std::vector<std::byte>& to) {
  const read_result not_here{std::make_error_code(std::errc::no_such_file_or_directory)};
  spool_place place;
  known_file file;
  block_header empty;
  {
    const std::lock_guard guard(lock_);
    const auto* lane = index_.find(session);
    // A gap in front of the first block counts, too: a forwarder that has the block before the gap
    // acknowledged asks for the gap.
    if (lane == nullptr || lane->blocks.empty() || sequence <= lane->released ||
        sequence > lane->blocks.back().sequence) {
      return not_here;
    }
    if (const auto* found = index_.find_block(session, sequence)) {
      place = *found;
      if (const auto known = files_.find(place.segment); known != files_.end())
        file = known->second;
    } else {
      index_.mark_missing(session, sequence);
    }
    empty.session = session;
    empty.sequence = sequence;
    empty.run = lane->run;
    empty.node = lane->node;
  }
  if (place.bytes != 0) { // else it is missing, or known to be damaged
    const auto error = fetch(place, file, to);
    if (error && may_pass(error, place)) return {error};
    block_header header;
    if (!error && check_block_and_events(to, header) == block_fault::none &&
        header.session == session && header.sequence == sequence) {
      return {.error = {}, .whole = true};
    }
    {
      const std::lock_guard guard(lock_);
      // Released while it was read, and its file gone: no wonder, and no loss.
      const auto* now = index_.find_block(session, sequence);
      if (now == nullptr) return not_here;
      // Written anew meanwhile, in another place.
      if (now->segment != place.segment || now->bytes == 0)
        return {std::make_error_code(std::errc::resource_unavailable_try_again)};
      index_.mark_damaged(session, sequence);
    }
    if (!error) keep_copy(place.segment, {place.offset, place.bytes}, "damaged");
  }
  empty.payload_crc = crc32c({});
  seal_header(empty);
  to.resize(sizeof empty);
  store(to.data(), empty);
  return {.error = {}, .lost_events = place.events};
}

/// A disk that does not give the bytes now may give them later; a file that is gone, or ends before
/// them, will not.
bool spool::is_final(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::result_out_of_range ||
         error == name_fault::not_a_file;
}

bool spool::may_pass(const std::error_code& error, const spool_place& place) {
  if (is_final(error)) return false;
  const bool again = place.segment == failed_.segment && place.offset == failed_.offset;
  failures_ = again ? failures_ + 1 : 1;
  failed_ = place;
  return failures_ < most_failures;
}

/// The bytes at a place, unchecked: from the file that is written, or by the folder's handle, so
/// that a folder that is not mounted any more is not mistaken for one without the file.
std::error_code spool::fetch(const spool_place& place, const known_file& file,
                             std::vector<std::byte>& to) const {
  if (place.bytes > to.capacity()) { // resize() would take up to twice as much, beside the old
    std::vector<std::byte>().swap(to);
    to.reserve(place.bytes);
  }
  if (file.open) {
    to.resize(place.bytes);
    return read_all(file.open->get(), place.offset, to);
  }
  std::error_code error;
  const auto opened = folder()->open(name_of(place.segment), O_RDONLY, error);
  if (error) return error;
  to.resize(place.bytes);
  return read_all(opened.get(), place.offset, to);
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

void spool::remove(const std::vector<std::uint64_t>& segments) {
  const auto from = folder();
  for (const auto number : segments) {
    const std::string name = name_of(number);
    std::error_code error;
    const auto seen = from->look(name, error);
    file_identity who;
    {
      const std::lock_guard guard(lock_);
      who = files_[number].as.who;
    }
    // Something else may have the name by now: it stays. A file that cannot be removed keeps what
    // is noted of its lanes.
    if (error || (seen && seen->who == who && from->remove(name) != 0 && errno != ENOENT)) continue;
    {
      const std::lock_guard guard(lock_);
      index_.forget_segment(number);
      files_.erase(number);
    }
    forget_releases();
  }
}

/// Clears the notes of sessions of which nothing is on the disk any more, but for those that say
/// what is gone, while no ledger has that.
void spool::forget_releases() {
  for (const spool_release& noted : releases_.notes()) {
    if (noted.waiting != 0 && !is_forgotten_) continue;
    std::unique_lock guard(lock_);
    const bool gone = !index_.on_disk(noted.session);
    guard.unlock();
    if (gone) releases_.forget(noted);
  }
  for (const std::uint64_t session : releases_.sent_before()) {
    std::unique_lock guard(lock_);
    const bool gone = !index_.on_disk(session);
    guard.unlock();
    if (gone) releases_.forget_sent(session);
  }
}

std::optional<spool::waiting_lane> spool::lane(std::uint64_t session) const {
  const std::lock_guard guard(lock_);
  const auto* lane = index_.find(session);
  if (lane == nullptr || lane->blocks.empty()) return std::nullopt;
  return waiting_lane{lane->blocks.front().sequence, lane->blocks.back().sequence,
                      index_.end_before_hole(session), lane->events};
}

std::uint64_t spool::lost_events(std::uint64_t session) const {
  const std::lock_guard guard(lock_);
  const auto* lane = index_.find(session);
  return lane == nullptr ? 0 : lane->lost;
}

void spool::count_missing(std::uint64_t numbers) {
  const std::lock_guard guard(lock_);
  index_.count_missing(numbers);
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
