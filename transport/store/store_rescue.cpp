// SPDX-License-Identifier: Apache-2.0
// What a store does when a person or another program has removed, moved, cut or replaced its files
// or its folder: the open file still has its bytes, and they are written anew.
#include <algorithm>
#include <utility>

#include "transport/accounting/ledger.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_writer.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

/// After so many, what the disk refuses of a file that is written anew is lost.
constexpr int most_refusals = 4;

std::string text_of(const session_tallies& lost) {
  constexpr std::size_t most = 4;
  std::string text;
  std::size_t told = 0;
  for (const auto& [session, b] : lost) {
    if (told++ == most) return text + ", and more in the ledger";
    if (!text.empty()) text += ", ";
    text += std::to_string(b.blocks) + " blocks with " + std::to_string(b.events) +
            " events of session " + session_text(session) + " (numbers " + std::to_string(b.first) +
            " to " + std::to_string(b.last) + ")";
  }
  return text;
}

} // namespace

/// A folder that was removed or moved away is made again. Something else that has its name stays:
/// it may be the place where a file system was mounted.
std::error_code store_writer::find_folder() {
  const auto fault = folder_.check();
  if (!fault) return {};
  if (fault != name_fault::folder_gone || !rescue_.is_over(settings_.now())) return fault;
  std::error_code error;
  held_folder made = folder_.made_anew(error);
  if (error) return error;
  folder_ = std::move(made);
  news_.push_back(settings_.folder.string() + ": " + fault.message() + ", and is made again");
  save_list(true);
  return {};
}

/// No error: all names lead to what was written. Files that are taken while others are written anew
/// wait for the next time.
std::error_code store_writer::write_anew(const stop_question& enough) {
  const bool is_folder_new = folder_.check() == name_fault::folder_gone;
  if (const auto error = find_folder()) return error;
  if (is_folder_new) abandon_copy();
  std::vector<std::pair<open_file*, std::error_code>> taken;
  for (open_file& f : open_) {
    const auto why = f.file.check(folder_);
    if (why && !is_name_fault(why)) return why;
    if (why) taken.emplace_back(&f, why);
  }
  const auto is_due = [&](const auto& t) {
    return to_write_anew_.contains(t.first->file.number());
  };
  if (std::ranges::none_of(taken, is_due)) {
    abandon_copy();
    if (taken.empty()) return {};
    if (!is_folder_new && !rescue_.is_over(settings_.now())) return taken.front().second;
    for (const auto& [file, why] : taken) to_write_anew_.insert(file->file.number());
  }
  bool more = true;
  for (const auto& [file, why] : taken) {
    if (!to_write_anew_.contains(file->file.number())) continue;
    if (!more) return why;
    if (const auto error = write_anew(*file, why, enough)) return error;
    more = !enough();
  }
  to_write_anew_.clear();
  return {};
}

/// A file that is taken again before it is whole is begun again, after a pause.
void store_writer::abandon_copy() {
  if (copy_) (void)folder_.remove(copy_->to.file.name());
  copy_.reset();
  to_write_anew_.clear();
}

/// The fault itself: there is more to write.
std::error_code store_writer::write_anew(open_file& old, const std::error_code& why,
                                         const stop_question& enough) {
  if (copy_ && copy_->of != old.file.number()) {
    (void)folder_.remove(copy_->to.file.name()); // its file is in its place again
    copy_.reset();
  }
  std::error_code error;
  if (!copy_) {
    open_files::iterator at;
    if ((error = open_next_file(old.owner, at))) {
      abandon_copy();
      return error;
    }
    copy_.emplace(new_copy{old.file.number(), std::move(*at), 0, {}});
    open_.erase(at);
  }
  error = copy_blocks(old, *copy_, enough);
  if (!error && settings_.sync) error = copy_->to.file.flush(settings_.flush);
  if (!error) error = copy_->to.file.check(folder_);
  if (error) { // the open file keeps them for another attempt
    abandon_copy();
    return error;
  }
  if (copy_->next < old.blocks.size()) return why;
  to_write_anew_.erase(old.file.number());
  put_in_place_of(old, why);
  return {};
}

void store_writer::put_in_place_of(open_file& old_file, const std::error_code& why) {
  open_file& fresh = copy_->to;
  // A file that was only cut, or written to, has its name still: its blocks would be there twice.
  std::error_code unknown;
  const auto old = folder_.look(old_file.file.name(), unknown);
  if (old && old->who == old_file.file.identity()) (void)folder_.remove(old_file.file.name());
  news_.push_back((settings_.folder / old_file.file.name()).string() + ": " + why.message() +
                  " while it was written; " + std::to_string(fresh.blocks.size()) +
                  " blocks that it held are now in " + fresh.file.name() +
                  (why == name_fault::file_not_cut
                       ? ""
                       : " (do not put it back): no other program may touch the files of a store"));
  ++times_moved_;
  refusals_ = 0;
  fresh.committed_end = fresh.file.end();
  fresh.ended = old_file.ended;
  session_tallies held;
  for (const stored_block& b : fresh.blocks) {
    held[b.header.session].add(b.header);
    sessions_.of(b.header.session).file = fresh.file.number();
    note_settings(fresh, b);
  }
  const session_tallies lost = std::move(copy_->lost);
  closed_.move(old_file.file.number(), fresh.file.number(), held, lost);
  old_file = std::move(fresh);
  copy_.reset();
  save_list(true);
  sessions_.leave_out(lost);
  count_lost(lost);
}

void store_writer::write_rest_anew(const stop_question& enough) {
  rescue_.begin_anew(); // there is no later attempt
  refusals_ = most_refusals;
  (void)commit(enough);
  if (folder_.check()) return; // its files are elsewhere, and not lost
  for (auto at = open_.begin(); at != open_.end();) {
    const auto file = at++;
    if (const auto why = file->file.check(folder_); is_name_fault(why)) give_up(file, why);
  }
}

/// What is copied by now stays, unless the file has its name still. Of what is under that name
/// looks find out.
void store_writer::give_up(open_files::iterator file, const std::error_code& why) {
  const std::uint64_t number = file->file.number();
  if (copy_ && copy_->of == number) {
    std::error_code unknown;
    const auto seen = folder_.look(file->file.name(), unknown);
    const bool has_name = unknown || (seen && seen->who == file->file.identity());
    if (!has_name && !copy_->to.file.check(folder_)) {
      for (; copy_->next < file->blocks.size(); ++copy_->next) {
        const block_header& h = file->blocks[copy_->next].header;
        copy_->lost[h.session].add(h);
      }
      return put_in_place_of(*file, why);
    }
    abandon_copy();
  }
  file_look as = file->file.as_it_is();
  as.modified = file_look::never;
  closed_.close(number, as);
  open_.erase(file);
  save_list(false);
}

std::error_code store_writer::read_back(const open_file& from, const stored_block& b,
                                        std::vector<std::byte>& bytes) {
  block_header header;
  bytes.resize(b.end() - b.offset);
  const auto error = read_all(from.file.descriptor()->get(), b.offset, bytes);
  if (error && error != std::errc::result_out_of_range) return error;
  const bool is_right = !error && check_block(bytes, header) == block_fault::none &&
                        header.header_crc == b.header.header_crc;
  return is_right ? std::error_code() : name_fault::file_changed;
}

/// A file to which another program has written may have its length and lack what was called stored.
/// One that is touched while it is read is read from its beginning.
void store_writer::examine(open_file& f, const stop_question& enough) {
  if (!f.file.is_suspect()) return;
  if (std::exchange(f.touches, f.file.touches()) != f.touches) f.examined = 0;
  std::vector<std::byte> bytes;
  for (; f.examined < f.blocks.size(); ++f.examined) {
    if (f.examined != 0 && enough()) return;
    const auto error = read_back(f, f.blocks[f.examined], bytes);
    if (error && !is_name_fault(error)) return; // it is not known yet
    if (error) return f.file.distrust();
  }
  f.file.trust();
}

/// An error is one of the new file, or the disk refuses the old one, and may give it later. What is
/// not in the old one any more, or was refused too often, is lost.
std::error_code store_writer::copy_blocks(const open_file& from, new_copy& copy,
                                          const stop_question& enough) {
  std::vector<std::byte> bytes;
  open_file& to = copy.to;
  for (bool more = true; more && copy.next < from.blocks.size(); ++copy.next, more = !enough()) {
    const stored_block& b = from.blocks[copy.next];
    if (const auto error = read_back(from, b, bytes)) {
      if (!is_name_fault(error) && ++refusals_ < most_refusals) return error;
      copy.lost[b.header.session].add(b.header);
      continue;
    }
    const std::uint64_t offset = to.file.end();
    if (const auto error = to.file.append(bytes)) return error;
    to.blocks.push_back({b.header, to.file.number(), offset});
    if (to.contents) to.contents->add(bytes, b.header);
  }
  return {};
}

void store_writer::count_lost(const session_tallies& lost) {
  if (lost.empty()) return;
  add(lost_, lost);
  news_.push_back("lost although they were called stored: " + text_of(lost));
}

/// Blocks that were counted as lost, and are in their file again.
void store_writer::take_up(const std::vector<listed_blocks>& back) {
  if (back.empty()) return;
  session_tallies sum;
  for (const listed_blocks& b : back) {
    sum[b.session].add(b.blocks);
    sessions_.take_up(b);
    const auto lost = lost_.find(b.session);
    if (lost == lost_.end()) continue;
    lost->second = less(lost->second, b.blocks);
    if (lost->second.blocks == 0) lost_.erase(lost);
  }
  news_.push_back("there again, and lost no more: " + text_of(sum));
}

void store_writer::tell(const stored_files::loss& gone) {
  for (const std::string& file : gone.files) news_.push_back((settings_.folder / file).string());
  for (const std::string& file : gone.altered) news_.push_back((settings_.folder / file).string());
  count_lost(gone.blocks);
  if (gone.archived_files.empty()) return;
  std::string files;
  for (const std::string& file : gone.archived_files) files += (files.empty() ? "" : ", ") + file;
  news_.push_back(files + ": archived, with " + text_of(gone.archived));
}

/// What is not there is in no session's sums.
void store_writer::compare_with_manifest() {
  tell(closed_.compare(folder_, names_));
  save_list(true);
}

void store_writer::save_list(bool check) {
  if (const auto files = closed_.take_left_out(); files != 0)
    news_.push_back("the store has very many files: the oldest " + std::to_string(files) +
                    " are not looked at any more");
  const auto error = closed_.save(folder_, check, settings_.sync);
  if (std::exchange(list_error_, error) == error) return;
  news_.push_back(error
                      ? "cannot write " + (settings_.folder / store_manifest::file_name).string() +
                            ": " + error.message() + "; it is tried again"
                      : "the store's manifest can be written again");
}

void store_writer::forget_losses() {
  closed_.forget_losses();
  save_list(true);
}

std::size_t store_writer::unread() const {
  const auto is_unread = [](const open_file& f) { return f.file.was_suspect(); };
  return closed_.unread() + static_cast<std::size_t>(std::ranges::count_if(open_, is_unread));
}

std::size_t store_writer::not_compared() const {
  return closed_.not_compared() + (unread() - closed_.unread());
}

stop_question store_writer::look_is_long_enough() const {
  return [began = steady_clock::now(), asks = settings_.has_read_enough] { return asks(began); };
}

void store_writer::tell_what_is_unread() {
  const std::size_t files = unread();
  if (std::exchange(unread_told_, files != 0) == (files != 0)) return;
  news_.push_back(files == 0 ? settings_.folder.string() + ": what was touched has been read"
                             : settings_.folder.string() + ": another program may have touched " +
                                   std::to_string(files) +
                                   " files, which are read again; until then it is not known "
                                   "whether they hold what was called stored");
}

/// The signal that ends a program asks for its ledger, and so for this look: it does not end the
/// reading.
std::error_code store_writer::look() {
  const auto enough = look_is_long_enough();
  for (open_file& f : open_) examine(f, enough);
  auto error = commit(enough);
  // The first may have put things in their places.
  if (error && to_write_anew_.empty()) error = commit(enough);
  if (const auto fault = folder_.check()) return fault;
  completion_.go_on(enough);
  const auto gone = closed_.look(folder_, names_, enough);
  sessions_.leave_out(gone.archived);
  sessions_.leave_out(gone.blocks);
  take_up(gone.back);
  tell(gone);
  tell_what_is_unread();
  save_list(true);
  if (!error) error = gone.error;
  if (error || gone.blocks.empty()) return error;
  return name_fault::file_gone;
}

} // namespace l3
