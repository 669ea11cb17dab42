// SPDX-License-Identifier: Apache-2.0
#include "transport/output/spool.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>

#include <fcntl.h>
#include <sys/statvfs.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/block.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

bool is_want_of_room(const std::error_code& error) {
  return error == std::errc::no_space_on_device ||
         error == std::error_code(EDQUOT, std::generic_category());
}

/// Attempts at one block, a tenth of a second or more apart, before the disk is taken at its word.
constexpr std::uint64_t most_failures = 1000;

/// `identity` tells session, sequence, run and node.
void make_empty_block(block_header identity, std::vector<std::byte>& to) {
  identity.payload_crc = crc32c({});
  seal_header(identity);
  to.resize(sizeof identity);
  store(to.data(), identity);
}

std::uint64_t above(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

} // namespace

std::uint64_t free_bytes(int folder) {
  struct statvfs s {};
  return ::fstatvfs(folder, &s) == 0 ? std::uint64_t{s.f_bavail} * s.f_frsize : 0;
}

spool::~spool() { close_segment(); }

std::error_code spool::append(std::span<const std::byte> block) {
  block_header header;
  [[maybe_unused]] const auto fault = read_block_header(block, header);
  assert(fault == block_fault::none && block.size() == sizeof header + header.payload_bytes);
  {
    const std::lock_guard guard(lock_);
    if (const auto* lane = index_.find(header.session)) {
      if (header.sequence <= lane->released) return {};
      assert(lane->blocks.empty() || header.sequence > lane->blocks.back().sequence);
    }
  }
  if (const auto error = prepare_segment(block.size())) return error;
  const auto offset = segment_.end();
  if (const auto error = segment_.append(block)) return refuse(error, block.size(), true);
  room_wanted_ = 0;
  bool needed = false;
  std::uint64_t released = 0;
  {
    const std::lock_guard guard(lock_);
    index_.resize_segment(segment_.number(), segment_.end());
    needed = index_.add_block(header, segment_.number(), offset);
    released = index_.find(header.session)->released;
  }
  if (!needed) releases_.note(header.session, released);
  return {};
}

/// A segment with room for the block, on a disk with room for it.
std::error_code spool::prepare_segment(std::uint64_t bytes) {
  if (segment_.is_open() && (!segment_.is_sound() || (segment_.end() > sizeof(store_file_header) &&
                                                      segment_.end() + bytes > segment_bytes_))) {
    close_segment();
  }
  const auto wanted = [&] { return bytes + (segment_.is_open() ? 0 : sizeof(store_file_header)); };
  if (room(false) < wanted() && room(true) >= bytes + sizeof(store_file_header)) close_segment();
  if (room(false) < wanted()) {
    return refuse(std::make_error_code(std::errc::no_space_on_device), wanted(), false);
  }
  if (segment_.is_open()) return {};
  const auto error = segment_.open(path_, next_number_, system_.flush);
  // A name that is taken is not tried for ever.
  if (!error || error == std::errc::file_exists) ++next_number_;
  if (error) return refuse(error, wanted(), true);
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
    index_.unpin_segment(segment_.number());
    written_segment_ = 0;
    free = index_.take_free();
  }
  segment_.close();
  remove(free);
}

std::error_code spool::refuse(std::error_code error, std::uint64_t bytes, bool by_system) {
  if (!is_want_of_room(error)) {
    room_wanted_ = 0;
    return error;
  }
  // If the system says so although there seems to be room, it takes more than there seems to be.
  room_wanted_ = by_system ? std::max(bytes, capacity() + 1) : bytes;
  return std::make_error_code(std::errc::no_space_on_device);
}

void spool::remove(const std::vector<std::uint64_t>& segments) {
  for (const auto number : segments) {
    // A file that cannot be removed keeps what is noted of its lanes.
    if (!remove_segment(path_, number) && errno != ENOENT) continue;
    std::vector<spool_index::finished_lane> finished;
    {
      const std::lock_guard guard(lock_);
      finished = index_.forget_segment(number);
    }
    for (const auto& lane : finished) releases_.forget(lane.session, lane.released);
  }
}

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

spool::read_result spool::read(std::uint64_t session, std::uint64_t sequence,
                               std::vector<std::byte>& to) {
  const read_result not_here{std::make_error_code(std::errc::no_such_file_or_directory)};
  std::optional<spool_place> place;
  block_header empty;
  {
    const std::lock_guard guard(lock_);
    const auto* lane = index_.find(session);
    // Not only between two blocks: whoever had the one before a gap acknowledged asks for the gap.
    if (lane == nullptr || lane->blocks.empty() || sequence <= lane->released ||
        sequence > lane->blocks.back().sequence) {
      return not_here;
    }
    place = index_.place_of(session, sequence);
    if (!place) { // its segment is gone, or the place where it was says nothing of it
      index_.mark_missing(session, sequence);
      ++missing_;
    }
    empty.session = session;
    empty.sequence = sequence;
    empty.run = lane->run;
    empty.node = lane->node;
  }
  if (!place || place->bytes == 0) {
    make_empty_block(empty, to);
    return {};
  }
  const auto error = fetch(*place, to);
  if (error && may_pass(error, *place)) return {error};
  block_header header;
  if (!error && check_block(to, header) == block_fault::none && header.session == session &&
      header.sequence == sequence) {
    return {.error = {}, .whole = true, .events = header.events};
  }
  {
    const std::lock_guard guard(lock_);
    // Released while it was read, and its file gone: no wonder, and no loss.
    if (!index_.place_of(session, sequence)) return not_here;
    index_.mark_damaged(session, sequence);
  }
  ++damaged_;
  if (!error) keep_copy(place->segment, place->offset, "damaged", to);
  make_empty_block(empty, to);
  return {.error = {}, .lost_events = place->events};
}

/// A disk that does not give the bytes now may give them later; a file that is gone, or ends before
/// them, will not.
bool spool::may_pass(const std::error_code& error, const spool_place& place) {
  if (error == std::errc::no_such_file_or_directory || error == std::errc::result_out_of_range)
    return false;
  const bool again = place.segment == failed_segment_ && place.offset == failed_offset_;
  failures_ = again ? failures_ + 1 : 1;
  failed_segment_ = place.segment;
  failed_offset_ = place.offset;
  return failures_ < most_failures;
}

/// The bytes at a place, whatever they are. The folder is held open: one that is not mounted any
/// more is not taken for one without the file.
std::error_code spool::fetch(const spool_place& place, std::vector<std::byte>& to) const {
  const auto name = store_file_path(path_, place.segment, store_kind::spool).filename();
  const file_descriptor file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
  to.resize(place.bytes);
  return file ? read_all(file.get(), place.offset, to) : last_error();
}

std::optional<std::uint64_t> spool::first(std::uint64_t session) const {
  const std::lock_guard guard(lock_);
  const auto* lane = index_.find(session);
  if (lane == nullptr || lane->blocks.empty()) return std::nullopt;
  // Those that are missing stand between others, the last is there.
  return std::ranges::find_if(lane->blocks, [](const auto& b) { return b.segment != 0; })->sequence;
}

std::optional<std::uint64_t> spool::last(std::uint64_t session) const {
  const std::lock_guard guard(lock_);
  const auto* lane = index_.find(session);
  if (lane == nullptr || lane->blocks.empty()) return std::nullopt;
  return lane->blocks.back().sequence;
}

std::uint64_t spool::blocks() const {
  const std::lock_guard guard(lock_);
  return index_.all().blocks;
}

std::uint64_t spool::events() const {
  const std::lock_guard guard(lock_);
  return index_.all().events;
}

std::uint64_t spool::bytes() const {
  const std::lock_guard guard(lock_);
  return index_.all().bytes;
}

std::uint64_t spool::disk_bytes() const {
  const std::lock_guard guard(lock_);
  return index_.all().disk_bytes;
}

/// The file being written counts as room if it is asked for and no block in it is needed: the next
/// append gives it up, if it has to.
std::uint64_t spool::room(bool with_written_segment) const {
  std::uint64_t taken = 0;
  std::uint64_t freed = 0;
  {
    const std::lock_guard guard(lock_);
    if (index_.all().blocks >= system_.most_blocks) return 0;
    taken = index_.all().disk_bytes;
    if (with_written_segment) freed = index_.bytes_if_free(written_segment_);
  }
  return std::min(above(size_, taken - freed),
                  above(system_.free_bytes(folder_.get()) + freed, floor_));
}

std::uint64_t spool::capacity() const { return room(true); }

bool spool::full() const {
  const std::uint64_t wanted = room_wanted_;
  return wanted != 0 && capacity() < wanted;
}

} // namespace l3
