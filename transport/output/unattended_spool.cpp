// SPDX-License-Identifier: Apache-2.0
#include "transport/output/unattended_spool.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include <sys/statvfs.h>

#include "transport/format/spool.hpp"
#include "transport/output/spool_releases.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/system/nearest_folder.hpp"
#include "transport/system/thread_name.hpp"

namespace l3 {
namespace {

std::uint64_t above(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

} // namespace

unattended_spool::unattended_spool(spool_settings settings, std::chrono::nanoseconds interval)
    : settings_(std::move(settings)), thread_([this, interval](const std::stop_token& stop) {
        name_this_thread("spool watch");
        while (!stop.stop_requested()) {
          look(stop);
          std::unique_lock lock(mutex_);
          next_.wait_for(lock, stop, interval, [] { return false; });
        }
      }) {}

void unattended_spool::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

std::optional<unattended_spool::content> unattended_spool::holds() const {
  const std::lock_guard lock(mutex_);
  return content_;
}

/// What it cannot look at stays as it was: the folder goes just now, or the reading shall end.
void unattended_spool::look(const std::stop_token& stop) try {
  const listing files = list();
  content now = holds().value_or(content{});
  if (files != counted_) now.totals = count(files, stop);
  now.room = room(now.totals);
  counted_ = files;
  const std::lock_guard lock(mutex_);
  content_ = now;
} catch (const std::exception&) {
  return;
}

unattended_spool::listing unattended_spool::list() const {
  const std::filesystem::path folder = settings_.folder;
  listing files;
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return files; // the first run makes it
  files.releases = look_at(folder / spool_releases_name);
  for (const std::uint64_t number : store_file_numbers(folder, store_kind::spool))
    if (const auto as = look_at(store_file_path(folder, number, store_kind::spool));
        as && as->is_file)
      files.segments.push_back({number, *as});
  return files;
}

/// A file that cannot be read is none: the spool of the next run says so.
spool_totals unattended_spool::count(const listing& files, const std::stop_token& stop) const {
  spool_index index;
  for (const auto& [session, up_to] : spool_releases::read_in(settings_.folder))
    (void)index.release(session, up_to);
  for (const segment& s : files.segments) {
    index.add_segment(s.number, s.as.bytes);
    try {
      store_file file(settings_.folder, s.number, store_kind::spool,
                      [&] { return stop.stop_requested(); });
      while (const auto block = file.next())
        (void)index.add_block(block->header, s.number, block->offset);
    } catch (const std::runtime_error&) {
      continue;
    }
  }
  return index.all();
}

std::uint64_t unattended_spool::room(const spool_totals& totals) const {
  struct statvfs disk {};
  if (::statvfs(nearest_folder(settings_.folder).c_str(), &disk) != 0) return 0;
  return std::min(above(settings_.size.bytes, totals.disk_bytes),
                  above(std::uint64_t{disk.f_bavail} * disk.f_frsize, settings_.floor.bytes));
}

} // namespace l3
