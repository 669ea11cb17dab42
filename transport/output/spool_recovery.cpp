// SPDX-License-Identifier: Apache-2.0
// The start of a spool: what earlier processes left, and what a crash cost.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <sys/stat.h>

#include "transport/output/spool.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/nearest_folder.hpp"

namespace l3 {

namespace {

/// Room comes back a segment at a time: a spool of one segment would have none until it is empty.
constexpr std::uint64_t fewest_segments = 4;
constexpr const char* copies_name = "damaged";
constexpr mode_t folder_mode = 0755;

/// With those above it that are missing.
std::filesystem::path made(const std::filesystem::path& folder) {
  if (const std::string why = wrong_with_spool_folder(folder); !why.empty())
    throw std::runtime_error("cannot have the spool in " + folder.string() + ": " + why);
  std::error_code error;
  std::vector<std::filesystem::path> missing;
  for (auto at = folder; !at.empty() && !std::filesystem::exists(at, error); at = at.parent_path())
    missing.push_back(at);
  std::filesystem::create_directories(folder, error);
  for (auto at = missing.begin(); !error && at != missing.end(); ++at)
    error = flush_folder(at->parent_path());
  if (error)
    throw std::runtime_error("cannot make the folder " + folder.string() + ": " + error.message());
  return folder;
}

/// Of what was set aside; nothing if it is none, or a link.
file_descriptor copies_folder(const held_folder& in) {
  return file_descriptor(
      ::openat(in.get(), copies_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

} // namespace

std::string wrong_with_spool_folder(const std::filesystem::path& folder) {
  std::string why = why_no_folder(folder);
  std::error_code error;
  if (!why.empty() || !std::filesystem::is_directory(folder, error)) return why;
  try {
    const auto files = block_files_in(folder, store_kind::store);
    if (!files.empty())
      why = "it is a store, of which " + files.front().text() +
            " is a file; a spool has a folder of its own";
  } catch (const std::filesystem::filesystem_error&) {
    return {}; // another user may read it
  }
  return why;
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
      folder_(std::make_shared<const held_folder>(made(settings.folder), "daemon")),
      releases_(*folder_) {
  if (!settings.sync) system_.flush = nullptr;
  for (const auto& [session, up_to] : releases_.all()) (void)index_.release(session, up_to);
  count_copies();
  const auto numbers = store_file_numbers(folder_->path(), store_kind::spool);
  const auto is_file = [&](std::uint64_t number) {
    std::error_code error;
    const auto seen = folder_->look(name_of(number), error);
    return error || (seen && seen->is_file);
  };
  const auto newest = std::ranges::find_if(numbers.rbegin(), numbers.rend(), is_file);
  for (const auto number : numbers)
    recover_segment(number, newest != numbers.rend() && number == *newest);
  if (!numbers.empty()) next_number_ = std::max(next_number_, numbers.back() + 1);
  if (next_number_ > highest_file_number / 2)
    throw std::runtime_error(folder_->path().string() + ": there is a segment with the number " +
                             std::to_string(next_number_ - 1) +
                             ", and too few are left for others: move it away");

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

/// Blocks that were noted to be on disk, and that no segment has. A hole between those that are
/// there is counted when it is read. Those before the first one are told at each start until it is
/// released: a later start may find them.
void spool::count_what_is_gone() {
  for (const spool_release& e : releases_.notes()) {
    const std::uint64_t last = e.sequence + e.waiting;
    const auto* lane = index_.find(e.session);
    const bool has_blocks = lane != nullptr && !lane->blocks.empty();
    const auto tell = [&](std::uint64_t from, std::uint64_t to) {
      if (from > to) return;
      index_.count_missing(to - from + 1);
      found_.gone.push_back({e.session, from, to});
    };
    if (!has_blocks) {
      tell(e.sequence + 1, last);
      ends_.emplace_back(e.session, e.sequence);
      continue;
    }
    const std::uint64_t there = std::max(lane->blocks.back().sequence, e.sequence);
    tell(e.sequence + 1, std::min(last, lane->blocks.front().sequence - 1));
    tell(there + 1, last);
    ends_.emplace_back(e.session, there);
  }
}

void spool::forget_what_is_gone() {
  for (const auto& [session, last] : ends_) releases_.forget_behind(session, last);
  is_forgotten_ = true;
  forget_releases();
}

/// Older segments were scanned wholly when they were the newest. What is no regular file has no
/// blocks, whatever its name says: it is left alone.
void spool::recover_segment(std::uint64_t number, bool newest) {
  std::error_code error;
  const file_descriptor file = folder_->open(name_of(number), O_RDWR, error);
  if (error == name_fault::not_a_file) {
    found_.strangers.push_back(name_of(number));
    return;
  }
  auto scan =
      scan_block_file(*folder_, name_of(number), number, store_kind::spool, newest, system_.stop);
  std::erase_if(scan.blocks, [&](const found_block& b) {
    if (can_be_sent(b.header)) return false;
    scan.damaged.push_back({b.offset, b.end() - b.offset, true, b.header.events});
    return true;
  });
  const auto note_file = [&] {
    std::error_code unknown;
    const auto seen = folder_->look(name_of(number), unknown);
    if (unknown)
      throw std::system_error(unknown,
                              "cannot look at " + (folder_->path() / name_of(number)).string());
    if (seen) files_[number] = {nullptr, *seen};
  };
  note_file();
  index_.add_segment(number, scan.bytes);
  for (const auto& block : scan.blocks)
    if (index_.add_block(block.header, number, block.offset))
      found_.longest = std::max(found_.longest, block.end() - block.offset);
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
  if (scan.good_end < scan.bytes && file &&
      ::ftruncate(file.get(), static_cast<off_t>(scan.good_end)) == 0) {
    index_.resize_segment(number, scan.good_end);
    note_file();
  }
  index_.let_go(number);
}

/// Counts the copies that are there from earlier. They are named after segments: a new one gets a
/// number of which there is none.
void spool::count_copies() {
  constexpr std::string_view prefix = "spool-";
  const file_descriptor copies = copies_folder(*folder_);
  if (!copies) return;
  std::error_code error;
  const auto path = folder_->path() / copies_name;
  for (auto i = std::filesystem::directory_iterator(path, error);
       !error && i != std::filesystem::directory_iterator(); i.increment(error)) {
    const std::string name = i->path().filename().string();
    struct stat s {};
    if (::fstatat(copies.get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
    std::uint64_t segment = 0;
    if (name.starts_with(prefix))
      (void)std::from_chars(name.data() + prefix.size(), name.data() + name.size(), segment);
    if (segment < highest_file_number / 2) next_number_ = std::max(next_number_, segment + 1);
    ++copy_count_;
    copy_bytes_ = std::min(most_copied_bytes, copy_bytes_ + static_cast<std::uint64_t>(s.st_size));
  }
}

/// Copies what lies at this place of a segment, unless it costs more than it is worth.
void spool::keep_copy(std::uint64_t segment, const damaged_stretch& what, std::string_view kind) {
  const auto from = folder();
  if (copy_count_ >= most_copies || what.bytes > most_copied_bytes - copy_bytes_ ||
      system_.free_bytes(from->get()) < floor_ + what.bytes) {
    return;
  }
  const std::string name = name_of(segment);
  std::error_code error;
  const file_descriptor file = from->open(name, O_RDONLY, error);
  if (error) return;
  (void)::mkdirat(from->get(), copies_name, folder_mode);
  const file_descriptor copies = copies_folder(*from);
  const std::string copy = name.substr(0, name.rfind('.')) + "-at-" + std::to_string(what.offset) +
                           "." + std::string(kind);
  struct stat there {};
  if (!copies || ::fstatat(copies.get(), copy.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return;
  if (set_aside(file.get(), what.offset, what.bytes, copies.get(), copy)) return;
  ++copy_count_;
  copy_bytes_ += what.bytes;
}

} // namespace l3
