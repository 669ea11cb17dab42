// SPDX-License-Identifier: Apache-2.0
#include "transport/store/store_writer.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <utility>

#include "transport/store/block.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;

/// Files that are written at a time, beside the one of all that have no place.
constexpr std::ptrdiff_t most_open = 16;
/// Without a block, a file makes room for another; is complete after the end of one of its
/// sessions; is complete in any case.
constexpr auto pause_that_makes_room = 10s;
constexpr auto pause_after_end = 1s;
constexpr auto longest_idle = 10min;
/// So many files may come to their end before they are full or idle for so long, and then one more
/// in this time: else a peer that says goodbye all the time, or run after run, would fill the
/// folder with small files, and memory with their names.
constexpr int most_early_ends = 1024;
constexpr auto pause_for_early_end = 10s;

std::optional<file_contents> contents_of_new(const block_file& file) {
  std::byte head[sizeof(store_file_header)];
  if (read_all(file.descriptor()->get(), 0, head)) return std::nullopt;
  return file_contents(head);
}

} // namespace

store_writer::~store_writer() {
  if (sessions_.has_uncommitted()) (void)commit();
}

/// Those that the block must take along; empty: none.
std::vector<std::byte> store_writer::settings_for(open_file& to, const block_header& block) const {
  const stored_session* known = sessions_.find(block.session);
  if (block.settings_bytes != 0 || known == nullptr || known->settings_file == 0 ||
      !to.with_settings.insert(block.session).second)
    return {};
  stored_block from;
  from.offset = known->settings_offset;
  std::vector<std::byte> settings(sizeof(block_header));
  try {
    const std::uint64_t number = known->settings_file;
    const store_file file(folder_, names_.of(number), number, store_kind::store);
    if (file.read(from.offset, settings) &&
        read_block_header(settings, from.header) == block_fault::none &&
        from.header.session == block.session && file.read_settings(from, settings))
      return settings;
  } catch (const std::runtime_error&) { // another program has taken the file away
  }
  return {};
}

void store_writer::note_settings(open_file& in, const stored_block& block) {
  if (block.header.settings_bytes == 0) return;
  in.with_settings.insert(block.header.session);
  stored_session& s = sessions_.of(block.header.session);
  s.settings_file = block.file;
  s.settings_offset = block.offset;
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
  s.mixed = s.mixed || to->owner.several;
  to->blocks.push_back({header, to->file.number(), offset});
  note_settings(*to, to->blocks.back());
  if (to->contents) to->contents->add(block, header);
  to->used_at = settings_.now();
  to->ended = false;
  last_appended_ = to->blocks.back();
  ++appended_.blocks;
  appended_.events += header.events;
  appended_.run = header.run;
  return {};
}

/// The open file of this run and node; or a new one.
std::error_code store_writer::file_for(const block_header& header, std::size_t bytes,
                                       open_files::iterator& to) {
  const stored_session* known = sessions_.find(header.session);
  const bool is_known = known != nullptr && known->blocks > 0;
  file_owner wanted{header.run, header.node, false};
  if (is_known && (known->mixed || known->run != header.run || known->node != header.node))
    wanted = {0, 0, true};
  const auto find = [&] { return std::ranges::find(open_, wanted, &open_file::owner); };
  const auto too_old = [&] { return is_known && to->file.number() < known->file; };
  to = find();
  if (to == open_.end()) {
    if (const auto error = make_room(wanted)) return error;
    to = find();
  }
  if (to != open_.end() && (to->file.is_full_for(bytes, settings_.file_bytes) || too_old())) {
    if (const auto error = close_file(to)) return error;
    to = open_.end();
  }
  std::size_t blocks = 0;
  for (const open_file& f : open_) blocks += f.blocks.size();
  if (blocks >= stored_files::most_blocks) {
    const auto longest =
        std::ranges::max_element(open_, {}, [](const open_file& f) { return f.blocks.size(); });
    const bool was_wanted = longest == to;
    if (const auto error = close_file(longest)) return error;
    if (was_wanted) to = open_.end();
  }
  return to == open_.end() ? open_next_file(wanted, to) : std::error_code();
}

/// One file more can be opened, or `wanted` becomes the one that takes all that have no place: a
/// peer that changes its run with each block shall not make a file for each.
std::error_code store_writer::make_room(file_owner& wanted) {
  const auto is_of_one = [](const open_file& f) { return !f.owner.several; };
  if (wanted.several || std::ranges::count_if(open_, is_of_one) < most_open) return {};
  const auto oldest = std::ranges::min_element(open_, {}, &open_file::used_at);
  if (settings_.now() - oldest->used_at >= pause_that_makes_room && may_end_early())
    return close_file(oldest);
  wanted = {0, 0, true};
  return {};
}

std::error_code store_writer::open_next_file(const file_owner& owner, open_files::iterator& to) {
  open_file fresh;
  if (const auto error = fresh.file.open(folder_, next_number_, store_kind::store,
                                         settings_.sync ? ::fsync : nullptr)) {
    // A name that is taken is not tried for ever.
    if (error == std::errc::file_exists) ++next_number_;
    return error;
  }
  ++next_number_;
  fresh.owner = owner;
  fresh.committed_end = fresh.file.end();
  fresh.contents = contents_of_new(fresh.file);
  fresh.used_at = settings_.now();
  to = open_.insert(open_.end(), std::move(fresh));
  return {};
}

/// Commits all that is open. What cannot be completed now is tried again. A file that was touched,
/// and is not read yet, is closed as one that is not what it was: looks read it.
std::error_code store_writer::close_file(open_files::iterator file) {
  examine(*file, look_is_long_enough());
  if (const auto error = commit()) return error;
  const std::uint64_t number = file->file.number();
  file_look as = file->file.as_it_is();
  if (file->file.was_suspect()) as.modified = file_look::never;
  closed_.close(number, as);
  save_list(false);
  const auto contents = std::move(file->contents);
  open_.erase(file);
  if (contents)
    completion_.complete(number, *contents);
  else
    completion_.read_first(number);
  return {};
}

void store_writer::end_session(std::uint64_t session) {
  const stored_session* found = sessions_.find(session);
  if (found == nullptr) return;
  for (open_file& f : open_)
    if (f.file.number() == found->file) f.ended = true;
}

bool store_writer::may_end_early() {
  const auto now = settings_.now();
  if (early_ends_until_ - now >= most_early_ends * pause_for_early_end) return false;
  early_ends_until_ = std::max(early_ends_until_, now) + pause_for_early_end;
  return true;
}

/// An error shows in the next commit, too.
void store_writer::complete_idle_files() {
  const auto now = settings_.now();
  for (auto at = open_.begin(); at != open_.end();) {
    const auto file = at++;
    const auto idle = now - file->used_at;
    const bool due =
        idle >= longest_idle || (file->ended && idle >= pause_after_end && may_end_early());
    if (due && close_file(file)) return;
  }
}

std::error_code store_writer::complete_all_files() {
  while (!open_.empty())
    if (const auto error = close_file(open_.begin())) return error;
  completion_.go_on(settings_.stop);
  return {};
}

/// The folder, and every open file: their names lead to what was written.
std::error_code store_writer::check_files() const {
  if (open_.empty()) return folder_.check();
  for (const open_file& f : open_)
    if (const auto fault = f.file.check(folder_)) return fault;
  return {};
}

/// After a failed flush it is not known what is on the disk: these blocks were never there, and
/// come again.
std::error_code store_writer::commit(const stop_question& enough) {
  if (sessions_.has_uncommitted() && settings_.sync) {
    for (open_file& f : open_) {
      if (f.file.end() == f.committed_end) continue;
      if (const auto error = f.file.flush(settings_.flush)) {
        take_back();
        return error;
      }
    }
  }
  if (const auto fault = check_files()) {
    take_back();
    const auto error = write_anew(enough);
    return error ? error : fault;
  }
  abandon_copy(); // all that was taken is in its place again
  if (sessions_.has_uncommitted()) {
    for (const open_file& f : open_) add_to_list(f);
    save_list(false);
  }
  for (open_file& f : open_) f.committed_end = f.file.end();
  sessions_.commit();
  committed_ = appended_;
  return {};
}

/// Before its blocks are acknowledged: the next writer has to know of them.
void store_writer::add_to_list(const open_file& of) {
  const auto first = std::ranges::lower_bound(of.blocks, of.committed_end, {},
                                              [](const stored_block& b) { return b.offset; });
  for (auto b = first; b != of.blocks.end(); ++b) {
    closed_.add(of.file.number(), b->header);
    if (lost_.empty() || !closed_.has_come_again(b->header)) continue;
    const auto lost = lost_.find(b->header.session);
    if (lost == lost_.end()) continue;
    block_tally one;
    one.add(b->header);
    lost->second = less(lost->second, one);
    if (lost->second.blocks == 0) lost_.erase(lost);
  }
}

void store_writer::take_back() {
  for (open_file& f : open_) {
    if (f.file.end() != f.committed_end) f.contents.reset();
    f.file.cut(f.committed_end);
    while (!f.blocks.empty() && f.blocks.back().offset >= f.committed_end) f.blocks.pop_back();
    f.with_settings.clear(); // as of what stays; no harm if a block brings some once more
    for (const stored_block& b : f.blocks)
      if (b.header.settings_bytes != 0) f.with_settings.insert(b.header.session);
  }
  sessions_.take_back();
  appended_ = committed_;
}

} // namespace l3
