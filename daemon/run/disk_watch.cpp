// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/disk_watch.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "daemon/words.hpp"
#include "transport/outbox/spool.hpp"
#include "transport/system/known_folder.hpp"
#include "transport/system/threads.hpp"

namespace l3 {
namespace {

constexpr std::uint64_t room_for_ledger = 1 << 20;

/// Free room on the file system of a folder, which may not exist yet; nothing if it cannot be read.
std::optional<std::uint64_t> room_in(const std::filesystem::path& folder) {
  struct statvfs disk {};
  if (::statvfs(nearest_folder(folder).c_str(), &disk) != 0) return std::nullopt;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

std::vector<known_folder> folders_of(const daemon_settings& s) {
  std::vector<known_folder> all;
  if (!s.spool.folder.empty()) all.emplace_back(s.spool.folder);
  if (!s.run.ledger.empty())
    all.emplace_back("." / std::filesystem::path(s.run.ledger).parent_path());
  return all;
}

} // namespace

std::vector<std::string> disk_shortages(const daemon_settings& s) {
  std::vector<std::string> all;
  const auto needs = [&](const std::string& folder, std::uint64_t bytes, std::string_view why) {
    const auto room = folder.empty() ? std::nullopt : room_in(folder);
    if (room && *room < bytes)
      all.push_back(fmt::format("the disk of {} is nearly full: {} are free, {} are needed ({})",
                                folder, size_in_words(*room), size_in_words(bytes), why));
  };
  needs(s.spool.folder, s.spool.floor.bytes + spool::segment_bytes(s.spool),
        "spool.floor and spool.segment");
  if (s.run.ledger.ends_with('/')) needs(s.run.ledger, room_for_ledger, "the ledger");
  return all;
}

disk_watch::disk_watch(const daemon_settings& s, std::chrono::nanoseconds interval)
    : settings_(s), folders_(folders_of(s)), thread_([this, interval](const std::stop_token& stop) {
        name_this_thread("disk watch");
        while (!stop.stop_requested()) {
          look(stop);
          std::unique_lock lock(mutex_);
          next_.wait_for(lock, stop, interval, [this] { return counts_; });
        }
      }) {}

/// Never asks a disk while it holds the lock.
void disk_watch::look(const std::stop_token& stop) {
  std::string gone;
  for (const known_folder& f : folders_)
    if (gone.empty()) gone = f.why_gone();
  std::optional<spool_content> content = spool();
  bool counts = false;
  {
    const std::lock_guard lock(mutex_);
    counts = std::exchange(counts_, false);
  }
  const std::string& folder = settings_.spool.folder;
  if (counts && !folder.empty())
    content = spool_content{totals_in_spool(folder, [&] { return stop.stop_requested(); })};
  if (content) content->room = room_for(content->totals);
  const std::lock_guard lock(mutex_);
  why_gone_ = std::move(gone);
  spool_ = content;
}

std::uint64_t disk_watch::room_for(const spool_totals& totals) const {
  const auto above = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
  return std::min(above(settings_.spool.size.bytes, totals.disk_bytes),
                  above(room_in(settings_.spool.folder).value_or(0), settings_.spool.floor.bytes));
}

std::optional<disk_watch::spool_content> disk_watch::spool() const {
  const std::lock_guard lock(mutex_);
  return spool_;
}

std::string disk_watch::why_gone() const {
  const std::lock_guard lock(mutex_);
  return why_gone_;
}

void disk_watch::count_spool() {
  const std::lock_guard lock(mutex_);
  counts_ = true;
  spool_.reset();
  next_.notify_all();
}

} // namespace l3
