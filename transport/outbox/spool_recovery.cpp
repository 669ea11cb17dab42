// SPDX-License-Identifier: Apache-2.0
// The start of a spool: finds the blocks of earlier processes and what a crash cost.
#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "transport/outbox/spool.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/known_folder.hpp"

namespace l3 {

namespace {

/// Room is freed by whole segments: a spool of one segment would have none until it is empty.
constexpr std::uint64_t fewest_segments = 4;

std::filesystem::path checked(const std::filesystem::path& folder) {
  if (const std::string why = wrong_with_spool_folder(folder); !why.empty())
    throw std::runtime_error("cannot use the spool in " + folder.string() + ": " + why);
  return folder;
}

} // namespace

std::string wrong_with_spool_folder(const std::filesystem::path& folder) {
  std::string why = why_no_last_folder(folder);
  std::error_code error;
  if (!why.empty() || !std::filesystem::is_directory(folder, error)) return why;
  try {
    const auto files = block_files_in(folder, store_kind::store);
    if (!files.empty())
      why = "it is a store: " + files.front().text() +
            " is one of its files; give the spool its own folder";
  } catch (const std::filesystem::filesystem_error&) {
    return {}; // another user may read it
  }
  return why;
}

spool_totals totals_in_spool(const std::filesystem::path& folder, const stop_question& stop) {
  spool_index index;
  try {
    for (const auto& [session, up_to] : spool_releases::read_in(folder))
      (void)index.release(session, up_to);
    for (const auto number : store_file_numbers(folder, store_kind::spool)) {
      index.add_segment(number, file_size(store_file_path(folder, number, store_kind::spool)));
      store_file file(folder, {number, {}}, store_kind::spool, stop);
      while (const auto block = file.next())
        (void)index.add_block(block->header, number, block->offset);
    }
  } catch (const std::exception&) {
    return index.all(); // the next run's spool reports the error
  }
  return index.all();
}

std::uint64_t spool::segment_bytes(const spool_settings& settings) {
  return std::min(settings.segment.bytes, settings.size.bytes / fewest_segments);
}

std::size_t spool::index_memory(const spool_settings& settings, std::uint64_t found_blocks) {
  constexpr std::uint64_t shortest = sizeof(block_header) + sizeof(packed_event);
  const auto most = std::min(spool_system{}.most_blocks, settings.size.bytes / shortest);
  return std::max(most, found_blocks) * index_bytes_a_block;
}

spool::spool(const spool_settings& settings, const spool_system& system)
    : size_(settings.size.bytes), floor_(settings.floor.bytes),
      segment_bytes_(segment_bytes(settings)), system_(system),
      folder_(checked(settings.folder), "daemon"), releases_(folder_) {
  if (!settings.sync) flushing_.emplace(std::exchange(system_.flush, nullptr));
  for (const auto& [session, up_to] : releases_.all()) (void)index_.release(session, up_to);
  const auto numbers = store_file_numbers(folder_.path(), store_kind::spool);
  for (const auto number : numbers) recover_segment(number, number == numbers.back());
  if (!numbers.empty()) next_number_ = numbers.back() + 1;
  count_what_is_gone();
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

/// Counts blocks that were noted as on disk but are in no segment, because of a power cut or a
/// removed file. They are reported once. A gap between existing blocks is counted when it is read.
/// A segment that the disk refuses may have the missing blocks.
void spool::count_what_is_gone() {
  if (found_.unreadable != 0) return;
  for (const spool_release& e : releases_.notes()) {
    const std::uint64_t last = e.sequence + e.waiting;
    const auto tell = [&](std::uint64_t from, std::uint64_t to) {
      if (from > to) return;
      index_.count_missing(to - from + 1);
      found_.gone.push_back({e.session, from, to});
    };
    const auto* lane = index_.find(e.session);
    if (lane == nullptr || lane->blocks.empty()) {
      tell(e.sequence + 1, last);
      releases_.set(e.session, last, last);
      continue;
    }
    const std::uint64_t before = lane->blocks.front().sequence - 1;
    const std::uint64_t end = lane->blocks.back().sequence;
    tell(e.sequence + 1, std::min(last, before));
    tell(end + 1, last);
    releases_.set(e.session, before, end);
  }
}

/// Older segments were fully checked when they were the newest.
void spool::recover_segment(std::uint64_t number, bool newest) {
  auto scan = scan_block_file(folder_, {number, {}}, store_kind::spool, newest, system_.stop);
  std::erase_if(scan.blocks, [&](const found_block& b) {
    if (can_be_sent(b.header)) return false;
    scan.damaged.push_back({b.offset, b.end() - b.offset, true, b.header.events});
    return true;
  });
  index_.add_segment(number, scan.bytes);
  for (const auto& block : scan.blocks)
    if (index_.add_block(block.header, number, block.offset))
      found_.longest = std::max(found_.longest, block.end() - block.offset);
  if (!scan.readable) {
    // Another start may read more of it, so the segment stays unchanged and is not released.
    ++found_.unreadable;
    return;
  }
  for (const auto& stretch : scan.damaged) found_.damaged_events += stretch.events;
  found_.damaged += scan.damaged.size();
  index_.count_damaged(scan.damaged.size());
  if (scan.torn) {
    ++found_.torn_tails;
    found_.torn_bytes += scan.torn->bytes;
  }
  // If this fails, the next start finds the torn end again; until then it is skipped.
  const auto path = folder_.path() / name_of(number);
  if (scan.good_end < scan.bytes &&
      ::truncate(path.c_str(), static_cast<off_t>(scan.good_end)) == 0)
    index_.resize_segment(number, scan.good_end);
  index_.let_go(number);
}

} // namespace l3
