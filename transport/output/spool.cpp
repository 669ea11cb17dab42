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

/// Room comes back a segment at a time: a spool of one segment would have none until it is empty.
constexpr std::uint64_t fewest_segments = 4;
/// Attempts at one block, a tenth of a second or more apart, before the disk is taken at its word.
constexpr std::uint64_t most_failures = 1000;

std::filesystem::path made(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw std::runtime_error("cannot make the folder " + folder.string() + ": " + error.message());
  return folder;
}

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

// --- the start ---

spool::spool(const spool_settings& settings, const spool_system& system)
    : path_(made(settings.folder)), size_(settings.size.bytes), floor_(settings.floor.bytes),
      segment_bytes_(std::min(settings.segment.bytes, settings.size.bytes / fewest_segments)),
      system_(system), folder_(take_folder(path_, "daemon")), releases_(path_),
      copies_(path_ / "damaged") {
  if (!settings.sync) system_.flush = nullptr;
  for (const auto& [session, up_to] : releases_.all()) (void)index_.release(session, up_to);
  count_copies();
  const auto numbers = store_file_numbers(path_, store_kind::spool);
  for (const auto number : numbers) recover_segment(number, number == numbers.back());
  if (!numbers.empty()) next_number_ = std::max(next_number_, numbers.back() + 1);

  remove(index_.take_free());
  forget_releases();
  found_.blocks = index_.all().blocks;
  found_.events = index_.all().events;
  std::vector<std::pair<spool_place, block_identity>> lanes;
  for (const auto& [session, lane] : index_.lanes())
    if (!lane.blocks.empty())
      lanes.push_back({lane.blocks.front(), {session, lane.run, lane.node}});
  std::ranges::sort(
      lanes, {}, [](const auto& lane) { return std::pair(lane.first.segment, lane.first.offset); });
  for (const auto& [first, lane] : lanes) found_.lanes.push_back(lane);
}

/// Older segments were scanned wholly when they were the newest.
void spool::recover_segment(std::uint64_t number, bool newest) {
  const auto scan = scan_block_file(path_, number, store_kind::spool, newest);
  index_.add_segment(number, scan.bytes);
  for (const auto& block : scan.blocks) (void)index_.add_block(block.header, number, block.offset);
  if (!scan.readable) {
    // Another start may have more of it: the segment stays as it is, and is not let go.
    ++found_.unreadable;
    return;
  }
  for (const auto& stretch : scan.damaged) {
    found_.damaged_events += stretch.events;
    keep_copy(number, stretch, "damaged");
  }
  found_.damaged += scan.damaged.size();
  index_.count_damaged(scan.damaged.size());
  if (scan.torn) {
    ++found_.torn_tails;
    found_.torn_bytes += scan.torn->bytes;
    keep_copy(number, *scan.torn, "torn");
  }
  // Should this fail, the end is found again at the next start, and stepped over until then.
  if (scan.good_end < scan.bytes &&
      ::truncate(path_of(number).c_str(), static_cast<off_t>(scan.good_end)) == 0) {
    index_.resize_segment(number, scan.good_end);
  }
  index_.let_go(number);
}

/// Counts the copies that are there from earlier. They are named after segments: a new one gets a
/// number of which there is none.
void spool::count_copies() {
  constexpr std::string_view prefix = "spool-";
  std::error_code error;
  for (auto i = std::filesystem::directory_iterator(copies_, error);
       !error && i != std::filesystem::directory_iterator(); i.increment(error)) {
    std::error_code vanished;
    const auto bytes = i->file_size(vanished);
    if (vanished) continue;
    const std::string name = i->path().filename().string();
    std::uint64_t segment = 0;
    if (name.starts_with(prefix))
      (void)std::from_chars(name.data() + prefix.size(), name.data() + name.size(), segment);
    next_number_ = std::max(next_number_, segment + 1);
    ++copy_count_;
    copy_bytes_ = std::min(most_copied_bytes, copy_bytes_ + bytes);
  }
}

/// Copies what lies at this place of a segment, unless it costs more than it is worth.
void spool::keep_copy(std::uint64_t segment, const damaged_stretch& what, std::string_view kind) {
  if (copy_count_ >= most_copies || what.bytes > most_copied_bytes - copy_bytes_ ||
      system_.free_bytes(folder_.get()) < floor_ + what.bytes) {
    return;
  }
  auto name = path_of(segment).stem().string() + "-at-" + std::to_string(what.offset) + '.';
  const auto path = copies_ / name.append(kind);
  std::error_code error;
  if (std::filesystem::exists(path, error)) return;
  std::filesystem::create_directory(copies_, error);
  if (set_aside(path_of(segment), what.offset, what.bytes, path)) return;
  ++copy_count_;
  copy_bytes_ += what.bytes;
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
      assert(lane->blocks.empty() || header.sequence > lane->blocks.back().sequence);
    }
  }
  if (const auto error = prepare_segment(block.size())) return error;
  const auto offset = segment_.end();
  auto error = segment_.append(block);
  if (!error && system_.flush != nullptr) {
    error = segment_.flush(system_.flush);
    if (error) segment_.cut(offset);
  }
  if (error) return refuse(error, block.size(), true);
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
  if (!segment_.is_sound() || segment_.is_full_for(bytes, segment_bytes_)) close_segment();
  const auto wanted = [&] { return bytes + (segment_.is_open() ? 0 : sizeof(store_file_header)); };
  if (room(false) < wanted() && room(true) >= bytes + sizeof(store_file_header)) close_segment();
  if (room(false) < wanted()) {
    return refuse(std::make_error_code(std::errc::no_space_on_device), wanted(), false);
  }
  if (segment_.is_open()) return {};
  const auto error = segment_.open(path_, next_number_, store_kind::spool, system_.flush);
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
    index_.let_go(std::exchange(written_segment_, 0));
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

/// The file being written counts as room if it is asked for and no block in it is needed: the next
/// append gives it up, if it has to.
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
    // A gap in front of the first block counts, too: a forwarder that has the block before the gap
    // acknowledged asks for the gap.
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
  if (place.bytes != 0) { // else it is missing, or known to be damaged
    const auto error = fetch(place, to);
    if (error && may_pass(error, place)) return {error};
    block_header header;
    if (!error && check_block(to, header) == block_fault::none && header.session == session &&
        header.sequence == sequence) {
      return {.error = {}, .whole = true};
    }
    {
      const std::lock_guard guard(lock_);
      // Released while it was read, and its file gone: no wonder, and no loss.
      if (index_.find_block(session, sequence) == nullptr) return not_here;
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
bool spool::may_pass(const std::error_code& error, const spool_place& place) {
  if (error == std::errc::no_such_file_or_directory || error == std::errc::result_out_of_range)
    return false;
  const bool again = place.segment == failed_.segment && place.offset == failed_.offset;
  failures_ = again ? failures_ + 1 : 1;
  failed_ = place;
  return failures_ < most_failures;
}

/// The bytes at a place, unchecked. The folder is held open, so that a folder that is not mounted
/// any more is not mistaken for one without the file.
std::error_code spool::fetch(const spool_place& place, std::vector<std::byte>& to) const {
  const auto name = path_of(place.segment).filename();
  const file_descriptor file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
  to.resize(place.bytes);
  return file ? read_all(file.get(), place.offset, to) : last_error();
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
  for (const auto number : segments) {
    // A file that cannot be removed keeps what is noted of its lanes.
    if (::unlink(path_of(number).c_str()) != 0 && errno != ENOENT) continue;
    {
      const std::lock_guard guard(lock_);
      index_.forget_segment(number);
    }
    forget_releases();
  }
}

/// Clears the notes of sessions of which nothing is on the disk any more.
void spool::forget_releases() {
  for (const auto& [session, up_to] : releases_.all()) {
    std::unique_lock guard(lock_);
    const bool gone = !index_.on_disk(session);
    guard.unlock();
    if (gone) releases_.forget(session, up_to);
  }
}

std::optional<spool::waiting_lane> spool::lane(std::uint64_t session) const {
  const std::lock_guard guard(lock_);
  const auto* lane = index_.find(session);
  if (lane == nullptr || lane->blocks.empty()) return std::nullopt;
  return waiting_lane{lane->blocks.front().sequence, lane->blocks.back().sequence, lane->events};
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
