// SPDX-License-Identifier: Apache-2.0
#include "transport/store/store_writer.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "transport/store/block.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;

/// Far more than a farm has nodes.
constexpr std::size_t most_open = 256;
/// Time without a block after which a file is closed: after the end of one of its sessions, and in
/// any case.
constexpr auto pause_after_end = 1s;
constexpr auto longest_idle = 10min;

} // namespace

store_writer::~store_writer() {
  if (sessions_.has_uncommitted()) (void)commit();
}

/// The settings that the block must include; empty: none.
std::vector<std::byte> store_writer::settings_for(open_file& to, const block_header& block) const {
  const stored_session* known = sessions_.find(block.session);
  if (block.settings_bytes != 0 || known == nullptr || known->settings_file == 0 ||
      !to.with_settings.insert(block.session).second)
    return {};
  stored_block from;
  from.offset = known->settings_offset;
  std::vector<std::byte> settings(sizeof(block_header));
  try {
    const store_file file(folder_.path(), {known->settings_file, {}}, store_kind::store);
    if (file.read(from.offset, settings) &&
        read_block_header(settings, from.header) == block_fault::none &&
        from.header.session == block.session && file.read_settings(from, settings))
      return settings;
  } catch (const std::runtime_error&) { // the file was removed: the events matter more
  }
  return {};
}

std::error_code store_writer::append(std::span<const std::byte> block, const block_header& given) {
  assert(given.sequence > last_stored(given.session));
  open_files::iterator to;
  if (const auto error = file_for(given, block.size(), to)) return error;
  block_header header = given;
  std::vector<std::byte> longer;
  if (const auto settings = settings_for(*to, given); !settings.empty()) {
    longer = with_settings(block, given, settings);
    block = longer;
    (void)read_block_header(block, header);
  }
  const std::uint64_t offset = to->file.end();
  if (const auto error = to->file.append(block)) return error;
  stored_session& s = sessions_.add(header);
  s.file = to->file.number();
  if (header.settings_bytes != 0) {
    to->with_settings.insert(header.session);
    s.settings_file = s.file;
    s.settings_offset = offset;
  }
  if (to->contents) to->contents->add(block, header);
  to->used_at = settings_.now();
  to->ended = false;
  ++appended_.blocks;
  appended_.events += header.events;
  appended_.run = header.run;
  return {};
}

/// The open file of this run and node, or a new one.
std::error_code store_writer::file_for(const block_header& header, std::size_t bytes,
                                       open_files::iterator& to) {
  const stored_session* known = sessions_.find(header.session);
  const file_owner wanted{header.run, header.node};
  to = std::ranges::find(open_, wanted, &open_file::owner);
  const auto is_of_no_use = [&](const open_file& f) {
    const bool is_too_old = known != nullptr && f.file.number() < known->file;
    return !f.file.is_sound() || is_too_old || f.file.is_full_for(bytes, settings_.file_bytes);
  };
  if (to != open_.end() && is_of_no_use(*to)) {
    if (const auto error = close_file(to)) return error;
    to = open_.end();
  }
  if (to != open_.end()) return {};
  if (open_.size() == most_open) {
    const auto oldest = std::ranges::min_element(open_, {}, &open_file::used_at);
    if (const auto error = close_file(oldest)) return error;
  }
  return open_next_file(wanted, to);
}

std::error_code store_writer::open_next_file(const file_owner& owner, open_files::iterator& to) {
  open_file fresh;
  if (const auto error = fresh.file.open(folder_, next_number_, store_kind::store,
                                         settings_.sync ? ::fsync : nullptr)) {
    // An existing name is not tried again.
    if (error == std::errc::file_exists) ++next_number_;
    return error;
  }
  ++next_number_;
  fresh.owner = owner;
  fresh.committed_end = fresh.flushed_end = fresh.file.end();
  const store_file_header head = head_of_file(fresh.file.number());
  fresh.contents.emplace(std::as_bytes(std::span(&head, 1)));
  fresh.used_at = settings_.now();
  to = open_.insert(open_.end(), std::move(fresh));
  return {};
}

/// Commits all open files. The next start checks and completes a doubtful file.
std::error_code store_writer::close_file(open_files::iterator file) {
  if (const auto error = commit()) return error;
  const std::uint64_t number = file->file.number();
  auto contents = std::move(file->contents);
  const bool is_empty = file->file.end() <= sizeof(store_file_header);
  const bool is_doubtful = file->is_doubtful;
  if (flushing_ && !is_empty && !is_doubtful) flushing_->add(file->file);
  open_.erase(file);
  if (is_empty)
    (void)folder_.remove(store_file_name(number));
  else if (!is_doubtful)
    complete(number, std::move(contents));
  return {};
}

/// After a disk error the next start completes the file, which can be read all the same.
void store_writer::complete(std::uint64_t number, std::optional<file_contents> contents) {
  const std::string name = store_file_name(number);
  if (!contents) contents = read_contents(folder_, {number, {}});
  if (!contents || contents->is_empty()) return;
  if (const auto error = try_to_complete(number, *contents))
    news_.push_back("cannot complete " + (folder_.path() / name).string() + ": " + error.message() +
                    "; the next start of the receiver retries");
}

/// Writes the sidecar first, so that a file with a complete name always has one.
std::error_code store_writer::try_to_complete(std::uint64_t number, const file_contents& contents) {
  const auto sidecar = folder_.path() / sidecar_name(number, contents.owner());
  const std::string text = contents.sidecar(number, settings_.software);
  if (const auto error =
          write_anew(sidecar, sidecar.string() + ".new", std::as_bytes(std::span(text))))
    return error;
  const std::string complete = complete_file_name(number, contents.owner());
  if (::faccessat(folder_.get(), complete.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return std::make_error_code(std::errc::file_exists);
  if (::renameat(folder_.get(), store_file_name(number).c_str(), folder_.get(), complete.c_str()) !=
      0)
    return last_error();
  return settings_.sync ? flush_folder(folder_.get()) : std::error_code();
}

void store_writer::end_session(std::uint64_t session) {
  const stored_session* found = sessions_.find(session);
  if (found == nullptr) return;
  for (open_file& f : open_)
    if (f.file.number() == found->file) f.ended = true;
}

std::error_code store_writer::complete_idle_files() {
  if (const auto error = commit()) return error;
  const auto now = settings_.now();
  for (auto at = open_.begin(); at != open_.end();) {
    const auto file = at++;
    const auto idle = now - file->used_at;
    const bool due = idle >= longest_idle || (file->ended && idle >= pause_after_end);
    if (const auto error = due ? close_file(file) : std::error_code()) return error;
  }
  return {};
}

std::error_code store_writer::complete_all_files() {
  while (!open_.empty())
    if (const auto error = close_file(open_.begin())) return error;
  if (flushing_) flushing_->finish();
  return fault_of_flushes();
}

/// After a failed flush it is unknown what is on disk: the blocks are removed and come again.
std::error_code store_writer::commit() {
  if (const auto error = fault_of_flushes()) {
    take_back();
    return error;
  }
  if (!sessions_.has_uncommitted()) return {};
  for (open_file& f : open_) {
    if (f.file.end() == f.committed_end) continue;
    std::error_code error;
    if (settings_.sync || flushes_fail_) error = f.file.flush(settings_.flush);
    if (error && !settings_.sync) doubt(f);
    if (!error) error = f.file.check();
    if (!error) continue;
    take_back();
    return error;
  }
  flushes_fail_ = false;
  if (!folder_.why_gone().empty()) {
    take_back();
    return std::make_error_code(std::errc::no_such_file_or_directory);
  }
  for (open_file& f : open_) f.committed_end = f.file.end();
  sessions_.commit();
  committed_ = appended_;
  return {};
}

/// Without `sync`: has open files flushed, and returns the error of an earlier flush.
std::error_code store_writer::fault_of_flushes() {
  if (!flushing_) return {};
  if (const auto failed = flushing_->take_failure()) {
    flushes_fail_ = has_doubtful_blocks_ = true;
    news_.push_back((folder_.path() / store_file_name(failed->file)).string() +
                    ": the disk did not keep what was written (" + failed->error.message() +
                    "): acknowledged blocks may be lost; `koto-l3 verify` tells");
    for (open_file& f : open_)
      if (f.file.number() == failed->file) doubt(f);
    return failed->error;
  }
  if (!flushing_->is_due(settings_.now())) return {};
  for (open_file& f : open_) {
    if (f.is_doubtful || f.flushed_end == f.committed_end) continue;
    flushing_->add(f.file);
    f.flushed_end = f.committed_end;
  }
  return {};
}

void store_writer::doubt(open_file& file) {
  file.is_doubtful = file.committed_end > sizeof(store_file_header);
  has_doubtful_blocks_ = has_doubtful_blocks_ || file.is_doubtful;
  file.file.give_up();
}

void store_writer::take_back() {
  for (open_file& f : open_) {
    if (f.file.end() == f.committed_end) continue;
    f.contents.reset();
    f.file.cut(f.committed_end);
    f.with_settings.clear(); // writing settings again is harmless
  }
  sessions_.take_back();
  appended_ = committed_;
}

} // namespace l3
