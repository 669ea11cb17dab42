// SPDX-License-Identifier: Apache-2.0
// How a spool begins: it takes its folder, and finds out what an earlier daemon left in it.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fcntl.h>
#include <sys/file.h>

#include "transport/output/spool.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

/// Room comes back a segment at a time: a spool of one segment would have none until it is empty.
constexpr std::uint64_t fewest_segments = 4;

[[noreturn]] void fail(const std::string& what, const std::error_code& cause) {
  throw std::runtime_error(what + ": " + cause.message());
}

file_descriptor take_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail("cannot make the folder " + path.string(), error);
  file_descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) fail("cannot open the folder " + path.string(), last_error());
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    throw std::runtime_error(path.string() + " is in use by another daemon");
  }
  if (::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    fail("cannot write to the folder " + path.string(), last_error());
  }
  return folder;
}

} // namespace

spool::spool(const spool_settings& settings, const spool_system& system)
    : path_(settings.folder), size_(settings.size.bytes), floor_(settings.floor.bytes),
      segment_bytes_(std::min(settings.segment.bytes, settings.size.bytes / fewest_segments)),
      system_(system), folder_(take_folder(path_)), releases_(path_),
      quarantine_(path_ / "damaged") {
  if (!settings.sync) system_.flush = nullptr;
  recover();
}

void spool::recover() {
  const auto numbers = store_file_numbers(path_, store_kind::spool);
  for (const auto session : releases_.sessions()) {
    (void)index_.release(session, releases_.released(session));
  }
  for (const auto number : numbers) recover_segment(number, number == numbers.back());
  next_number_ = std::max(numbers.empty() ? 0 : numbers.back(), quarantine_.last_segment()) + 1;
  damaged_ = found_.damaged;

  remove(index_.take_free());
  for (const auto session : releases_.sessions()) {
    if (index_.find(session)->segments == 0) {
      releases_.forget(session, std::numeric_limits<std::uint64_t>::max());
    }
  }
  found_.segments = index_.segments();
  found_.blocks = index_.all().blocks;
  found_.events = index_.all().events;
  found_.bytes = index_.all().bytes;
  list_lanes();
}

/// Older segments were scanned wholly when they were the newest.
void spool::recover_segment(std::uint64_t number, bool newest) {
  const auto path = store_file_path(path_, number, store_kind::spool);
  const auto scan = scan_segment(path_, number, newest);
  index_.add_segment(number, scan.bytes);
  for (const auto& block : scan.blocks) (void)index_.add_block(block.header, number, block.offset);
  if (!scan.readable) {
    // Perhaps another time: it stays as it is, pinned.
    ++found_.unreadable;
    return;
  }
  for (const auto& stretch : scan.damaged) found_.damaged_events += stretch.events;
  found_.damaged += scan.damaged.size();
  set_aside(number, scan.damaged, "damaged");
  if (scan.torn) {
    ++found_.torn_tails;
    found_.torn_bytes += scan.torn->bytes;
    set_aside(number, {*scan.torn}, "torn");
  }
  // Should this fail, the end is found again at the next start, and stepped over until then.
  if (scan.good_end < scan.bytes &&
      ::truncate(path.c_str(), static_cast<off_t>(scan.good_end)) == 0) {
    index_.resize_segment(number, scan.good_end);
  }
  index_.unpin_segment(number);
}

void spool::set_aside(std::uint64_t number, const std::vector<spool_stretch>& stretches,
                      std::string_view kind) {
  if (stretches.empty()) return;
  const store_file file(path_, number, store_kind::spool);
  std::vector<std::byte> bytes;
  for (const auto& stretch : stretches) {
    if (!quarantine_.has_room(stretch.bytes)) continue;
    bytes.resize(stretch.bytes);
    if (file.read(stretch.offset, bytes)) keep_copy(number, stretch.offset, kind, bytes);
  }
}

void spool::keep_copy(std::uint64_t number, std::uint64_t offset, std::string_view kind,
                      std::span<const std::byte> bytes) {
  if (system_.free_bytes(folder_.get()) < floor_ + bytes.size()) return;
  (void)quarantine_.keep(number, offset, kind, bytes);
}

void spool::list_lanes() {
  std::vector<std::pair<spool_place, found_lane>> lanes;
  for (const auto& [session, lane] : index_.lanes()) {
    if (lane.blocks.empty()) continue;
    lanes.push_back({lane.blocks.front(),
                     {session, lane.run, lane.node, lane.blocks.size(), lane.events, lane.bytes}});
  }
  std::ranges::sort(lanes, [](const auto& a, const auto& b) {
    return std::pair(a.first.segment, a.first.offset) < std::pair(b.first.segment, b.first.offset);
  });
  for (const auto& [place, lane] : lanes) found_.lanes.push_back(lane);
}

} // namespace l3
