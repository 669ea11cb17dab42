// SPDX-License-Identifier: Apache-2.0
#include "transport/store/stored_files.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "transport/store/block_file.hpp"
#include "transport/store/file_reading.hpp"

namespace l3 {
namespace {

constexpr std::size_t most_files_told = 8;

void tell(std::vector<std::string>& files, const std::string& text) {
  if (files.size() < most_files_told) {
    files.push_back(text);
  } else if (files.size() == most_files_told) {
    files.emplace_back("and more files");
  }
}

/// The sessions of the file whose entries begin here; `at` is then behind them.
template <class Iterator>
session_tallies take_file(Iterator& at, Iterator end) {
  session_tallies blocks;
  for (const std::uint64_t file = at->file; at != end && at->file == file; ++at)
    blocks[at->session].add(at->blocks);
  return blocks;
}

} // namespace

stored_files::stored_files() = default;
stored_files::~stored_files() = default;

std::error_code stored_files::recall(const held_folder& folder) {
  std::error_code error;
  before_ = store_manifest::read(folder, 2 * most + most_blocks + most_archived, error);
  for (const listed_blocks& l : before_) {
    if (l.blocks.blocks != 0) continue;
    if (l.blocks.events != 0) {
      not_listed_ = {l};
    } else {
      keep_number(l.file);
      if (l.session != 0) keep_last_archived(l.file, l.session, l.blocks.last);
    }
  }
  std::erase_if(before_, [](const listed_blocks& l) { return l.blocks.blocks == 0; });
  return error;
}

session_tallies stored_files::recalled(std::uint64_t number) const {
  auto first = std::ranges::lower_bound(before_, number, {}, &listed_blocks::file);
  const bool is_listed = first != before_.end() && first->file == number;
  return is_listed ? take_file(first, before_.end()) : session_tallies();
}

void stored_files::expect(std::uint64_t number, const file_look& now, const session_tallies& blocks,
                          const session_tallies& lacking) {
  if (!lacking.empty()) lacking_[number] = lacking;
  for (const auto& [session, tally] : blocks) list_.push_back({number, session, tally});
  files_.push_back({number, blocks.size(), now});
  make_room();
}

/// A file that the earlier receiver has not listed may hold what was written anew just before it
/// ended: those blocks are not lost.
stored_files::loss stored_files::compare(const held_folder& folder, const store_names& names) {
  loss all;
  const auto before = std::exchange(before_, {});
  auto lacking = std::exchange(lacking_, {});
  const auto is_listed = [&](std::uint64_t file) {
    return std::ranges::binary_search(before, file, {}, &listed_blocks::file);
  };
  std::vector<listed_blocks> unlisted;
  if (!before.empty())
    std::ranges::copy_if(list_, std::back_inserter(unlisted),
                         [&](const listed_blocks& l) { return !is_listed(l.file); });
  std::vector<known_file> missing;
  for (auto at = before.begin(); at != before.end();) {
    const std::uint64_t file = at->file;
    const session_tallies was = take_file(at, before.end());
    const bool is_there = std::ranges::binary_search(files_, file, {}, &known_file::number);
    if (left_out_ != 0 && (files_.empty() || file < files_.front().number)) continue;
    session_tallies lost = is_there ? lacking[file] : was;
    if (lost.empty() || (!is_there && note_archived(all, folder, file, was))) continue;
    session_tallies elsewhere;
    for (const listed_blocks& l : unlisted)
      if (const auto of = lost.find(l.session); of != lost.end() &&
                                                l.blocks.first <= of->second.last &&
                                                l.blocks.last >= of->second.first)
        elsewhere[l.session].add(l.blocks);
    lost = less(lost, elsewhere);
    if (lost.empty()) continue;
    note_loss(all, names.of(file), file,
              is_there ? "blocks that were in it are gone" : "the file is gone", lost);
    if (!is_there && list_.size() + files_.size() + missing.size() < most)
      missing.push_back({file, 0, {}});
  }
  files_.insert(files_.end(), missing.begin(), missing.end()); // a look finds what is put back
  std::ranges::sort(files_, {}, &known_file::number);
  in_order_ = true;
  return all;
}

void stored_files::note_loss(loss& all, const std::string& name, std::uint64_t file,
                             const std::string& what, const session_tallies& lost) {
  tell(all.files, name + ": " + what);
  l3::add(all.blocks, lost);
  add_loss(file, lost);
}

/// What a hand removes day after day does not fill memory and manifest: beyond what may be known,
/// it stays known of each session how much is lost, and not of which file.
void stored_files::add_loss(std::uint64_t file, const session_tallies& lost) {
  stale_ = lost_moved_ = true;
  for (const auto& [session, blocks] : lost) lost_.push_back({file, session, blocks});
  if (lost_.size() <= most) return;
  std::map<std::uint64_t, listed_blocks> by_session;
  for (const listed_blocks& l : lost_) {
    const auto of = by_session.try_emplace(l.session, listed_blocks{l.file, l.session, {}}).first;
    of->second.file = std::max(of->second.file, l.file);
    of->second.blocks.add(l.blocks);
  }
  lost_.clear();
  for (const auto& [session, all] : by_session) lost_.push_back(all);
}

/// By file.
std::map<std::uint64_t, session_tallies> stored_files::lost_before() const {
  std::map<std::uint64_t, session_tallies> lost;
  for (const listed_blocks& l : lost_) lost[l.file][l.session].add(l.blocks);
  return lost;
}

/// Of files that a person has put back, or that were looked at while they were copied.
void stored_files::take_back(const std::vector<listed_blocks>& back) {
  if (back.empty()) return;
  std::map<std::pair<std::uint64_t, std::uint64_t>, block_tally> found;
  for (const listed_blocks& b : back) found[{b.file, b.session}] = b.blocks;
  for (listed_blocks& l : lost_) {
    const auto of = found.find({l.file, l.session});
    if (of == found.end() || of->second.first > l.blocks.last || of->second.last < l.blocks.first)
      continue;
    const block_tally left = less(l.blocks, of->second);
    of->second = less(of->second, l.blocks); // a file may have lost some twice
    l.blocks = left;
  }
  std::erase_if(lost_, [](const listed_blocks& l) { return l.blocks.blocks == 0; });
  lost_moved_ = true;
}

bool stored_files::note_archived(loss& all, const held_folder& folder, std::uint64_t file,
                                 const session_tallies& blocks) {
  const std::string mark = archive_mark_path({}, file).string();
  std::error_code error;
  if (!folder.look(mark, error)) return false;
  tell(all.archived_files, store_file_name(file));
  l3::add(all.archived, blocks);
  marks_.push_back(mark);
  keep_number(file);
  for (const auto& [session, of] : blocks) keep_last_archived(file, session, of.last);
  return true;
}

/// Else a later start would call them unseen, when the daemon of the session goes on behind them.
void stored_files::keep_last_archived(std::uint64_t file, std::uint64_t session,
                                      std::uint64_t last) {
  listed_blocks kept{file, session, {.last = last}};
  const auto known = std::ranges::find(archived_, session, &listed_blocks::session);
  if (known != archived_.end()) {
    kept.file = std::max(file, known->file);
    kept.blocks.last = std::max(last, known->blocks.last);
    archived_.erase(known);
  }
  if (archived_.size() == most_archived) archived_.pop_front();
  archived_.push_back(kept);
  stale_ = true;
}

std::uint64_t stored_files::last_archived(std::uint64_t session) const {
  const auto known = std::ranges::find(archived_, session, &listed_blocks::session);
  return known == archived_.end() ? 0 : known->blocks.last;
}

void stored_files::keep_number(std::uint64_t file) {
  if (gone_.empty()) gone_.push_back({});
  gone_.front().file = std::max(gone_.front().file, file);
  stale_ = true;
}

void stored_files::add(std::uint64_t file, const block_header& committed) {
  const auto [at, is_new] = places_.try_emplace({file, committed.session}, open_.size());
  if (is_new) open_.push_back({file, committed.session, {}});
  open_[at->second].blocks.add(committed);
  unsaved_.insert(at->second);
}

/// A start asks for each file, in rising order; later it is the one that was closed last.
stored_files::known_file* stored_files::find_known(std::uint64_t file) {
  if (in_order_) {
    const auto known = std::ranges::lower_bound(files_, file, {}, &known_file::number);
    return known != files_.end() && known->number == file ? &*known : nullptr;
  }
  const auto known = std::ranges::find(files_.rbegin(), files_.rend(), file, &known_file::number);
  return known != files_.rend() ? &*known : nullptr;
}

void stored_files::rename(std::uint64_t file, const file_look& before, const file_look& now) {
  known_file* const known = find_known(file);
  if (known != nullptr && known->as == before && now.is_but_renamed(before)) known->as = now;
}

/// Its entries go to the end of the list. If they are the first of the open files' entries, then
/// each of these stays at its place of the manifest.
void stored_files::close(std::uint64_t file, const file_look& now) {
  const auto is_of_file = [&](const listed_blocks& l) { return l.file == file; };
  if (!unsaved_.empty() || !std::ranges::is_partitioned(open_, is_of_file)) stale_ = true;
  const auto others = std::stable_partition(open_.begin(), open_.end(), is_of_file);
  in_order_ = in_order_ && (files_.empty() || files_.back().number < file);
  files_.push_back({file, static_cast<std::size_t>(others - open_.begin()), now});
  list_.insert(list_.end(), open_.begin(), others);
  open_.erase(open_.begin(), others);
  take_places();
  flush_ = true;
  make_room();
}

void stored_files::move(std::uint64_t from, std::uint64_t to, const session_tallies& held,
                        const session_tallies& lost) {
  add_loss(from, lost);
  std::erase_if(open_, [&](const listed_blocks& l) { return l.file == from; });
  for (const auto& [session, blocks] : held) open_.push_back({to, session, blocks});
  take_places();
  stale_ = true;
}

void stored_files::take_places() {
  places_.clear();
  unsaved_.clear();
  for (std::size_t i = 0; i < open_.size(); ++i) places_[{open_[i].file, open_[i].session}] = i;
}

/// Half of the room at once: this writes the whole manifest.
void stored_files::make_room() {
  if (list_.size() + files_.size() <= most) return;
  while (!files_.empty() && list_.size() + files_.size() > most / 2) {
    const auto [number, sessions, as, written] = files_.front();
    if (not_listed_.empty()) not_listed_.push_back({});
    listed_blocks& all = not_listed_.front(); // an earlier receiver may have counted it
    if (number > std::exchange(all.file, std::max(all.file, number))) ++all.blocks.events;
    list_.erase(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(sessions));
    files_.pop_front();
    ++left_out_;
  }
  stale_ = true;
}

stored_files::loss stored_files::look(const held_folder& folder, const store_names& names,
                                      const stop_question& enough) {
  loss all;
  changed_files changed;
  std::vector<suspect> suspects;
  std::size_t entry = 0;
  const auto lacks = [&](const suspect& s, const session_tallies& lost, name_fault why) {
    if (lost.empty()) return;
    note_loss(all, names.of(s.file->number), s.file->number, make_error_code(why).message(), lost);
  };
  std::optional<std::map<std::uint64_t, session_tallies>> before;
  const auto lost_of = [&](std::uint64_t file) -> const session_tallies& {
    if (!before) before = lost_before();
    return (*before)[file];
  };
  for (const known_file& file : files_) {
    suspect s{&file, entry, {}};
    entry += file.sessions;
    std::error_code error;
    const auto seen = folder.look(names.of(file.number), error);
    if (error) {
      all.error = error;
      continue;
    }
    s.now = seen.value_or(file_look());
    if (s.now == file.as) continue;
    const session_tallies was = listed_of(s);
    if (s.now.is_file && !(was.empty() && lost_of(file.number).empty())) {
      suspects.push_back(s);
      continue;
    }
    changed[file.number] = {s.now, {}};
    if (!was.empty() && !seen && note_archived(all, folder, file.number, was)) continue;
    lacks(s, was,
          !seen           ? name_fault::file_gone
          : s.now.is_file ? name_fault::file_changed
                          : name_fault::file_taken);
  }
  in_order_of_reading(suspects);
  unread_ = 0;
  bool first = true; // however long the looks at the names took, a look reads something
  for (const suspect& s : suspects) {
    const std::uint64_t file = s.file->number;
    const bool is_first = std::exchange(first, false);
    if (unread_ != 0 || !read_on(folder, names, s, lost_of(file), enough, is_first)) {
      ++unread_;
      continue;
    }
    const auto read = std::exchange(reading_, nullptr);
    last_read_ = file;
    if (read->error()) {
      all.error = read->error();
      continue;
    }
    session_tallies is = read->listed();
    l3::add(is, read->lost());
    changed[file] = {read->as(), is};
    for (const auto& [session, blocks] : read->lost()) all.back.push_back({file, session, blocks});
    const session_tallies lost = missing_from(listed_of(s), read->listed());
    lacks(s, lost, name_fault::file_changed);
    const known_file now{file, 0, read->as(), s.file->written};
    if (lost.empty() && now.is_altered() && !s.file->is_altered())
      tell(all.altered, fmt::format("{}: it has {} bytes, and {} were written", names.of(file),
                                    now.as.bytes, now.written));
  }
  if (suspects.empty()) reading_.reset();
  take_back(all.back);
  if (!changed.empty()) replace(changed);
  return all;
}

/// The one that is being read; then what cannot be what it was; then what was only touched, in
/// turn: a file that is touched again and again keeps none behind it waiting.
void stored_files::in_order_of_reading(std::vector<suspect>& suspects) const {
  std::ranges::sort(suspects, {}, [&](const suspect& s) {
    const std::uint64_t number = s.file->number;
    const bool is_read = reading_ && reading_->number() == number;
    return std::tuple(!is_read, !s.is_another(), number <= last_read_, number);
  });
}

session_tallies stored_files::listed_of(const suspect& s) const {
  auto first = list_.begin() + static_cast<std::ptrdiff_t>(s.entry);
  const auto end = first + static_cast<std::ptrdiff_t>(s.file->sessions);
  return first == end ? session_tallies() : take_file(first, end);
}

/// True: `reading_` is at its end. A file that is written to while it is read comes once more.
bool stored_files::read_on(const held_folder& folder, const store_names& names, const suspect& s,
                           const session_tallies& lost, const stop_question& enough, bool a_step) {
  const bool goes_on = reading_ && reading_->number() == s.file->number &&
                       reading_->as().who == s.now.who && reading_->as().bytes == s.now.bytes &&
                       reading_->lost_before() == lost;
  if (!goes_on)
    reading_ = std::make_unique<file_reading>(s.file->number, s.now, listed_of(s), lost);
  return reading_->go_on(folder, names.of(s.file->number), enough, a_step);
}

void stored_files::replace(const changed_files& changed) {
  std::deque<listed_blocks> list;
  auto entry = list_.begin();
  for (known_file& file : files_) {
    const auto first = std::exchange(entry, entry + static_cast<std::ptrdiff_t>(file.sessions));
    const auto now = changed.find(file.number);
    if (now == changed.end()) {
      list.insert(list.end(), first, entry);
      continue;
    }
    const auto& [as, blocks] = now->second;
    auto was = first;
    const bool has_other_blocks =
        blocks != (first == entry ? session_tallies() : take_file(was, entry));
    stale_ = stale_ || has_other_blocks;
    if (has_other_blocks) file.written = as.bytes; // its loss is told
    file.as = as;
    file.sessions = blocks.size();
    for (const auto& [session, of] : blocks) list.push_back({file.number, session, of});
  }
  list_ = std::move(list);
}

void stored_files::find_lost_places() {
  if (!std::exchange(lost_moved_, false)) return;
  lost_places_.clear();
  for (std::size_t at = 0; at < lost_.size(); ++at)
    lost_places_[lost_[at].session].push_back({lost_[at].blocks.first, lost_[at].blocks.last, at});
  for (auto& [session, places] : lost_places_) {
    std::ranges::sort(places, {}, &lost_place::first);
    std::uint64_t highest = 0;
    for (lost_place& p : places) highest = p.highest = std::max(highest, p.highest);
  }
}

/// Its events may be fewer by now: another session may have stored some of them meanwhile. Each
/// block that is stored is asked for, while there may be very many losses. What of a loss has come
/// again makes it shorter, and leaves its place.
bool stored_files::has_come_again(const block_header& block) {
  find_lost_places();
  const auto of = lost_places_.find(block.session);
  if (of == lost_places_.end()) return false;
  const auto& places = of->second;
  auto at = std::ranges::upper_bound(places, block.sequence, {}, &lost_place::first);
  for (; at != places.begin() && std::prev(at)->highest >= block.sequence; --at) {
    block_tally& lost = lost_[std::prev(at)->at].blocks;
    if (lost.blocks == 0 || !lost.may_have(block.sequence)) continue;
    block_tally one;
    one.add(block);
    lost = less(lost, one);
    stale_ = true;
    return true;
  }
  return false;
}

void stored_files::forget_losses() {
  if (lost_.empty() && not_listed_.empty()) return;
  if (left_out_ == 0)
    not_listed_.clear();
  else
    not_listed_.front().blocks.events = left_out_;
  for (const listed_blocks& l : lost_) keep_number(l.file);
  lost_.clear();
  lost_moved_ = true;
  stale_ = true;
}

std::error_code stored_files::save(const held_folder& folder, bool check, bool sync) {
  if (stale_ || (check && !manifest_.is_in_place(folder))) {
    stale_ = true;
    if (!check && cannot_write_) return cannot_write_;
    lost_moved_ |= std::erase_if(lost_, [](const auto& l) { return l.blocks.blocks == 0; }) != 0;
    if ((cannot_write_ = manifest_.write(
             folder, {&gone_, &archived_, &not_listed_, &lost_, &list_, &open_}, sync)))
      return cannot_write_;
    stale_ = false;
    flush_ = false;
    unsaved_.clear();
    for (const std::string& mark : std::exchange(marks_, {})) (void)folder.remove(mark);
    return {};
  }
  const std::size_t before =
      gone_.size() + archived_.size() + not_listed_.size() + lost_.size() + list_.size();
  for (const std::size_t place : unsaved_)
    if (const auto error = manifest_.put(before + place, open_[place])) {
      stale_ = true;
      return save(folder, true, sync);
    }
  unsaved_.clear();
  return std::exchange(flush_, false) && sync ? manifest_.flush() : std::error_code();
}

} // namespace l3
