// SPDX-License-Identifier: Apache-2.0
#include "transport/store/store_writer.hpp"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <fcntl.h>

#include "transport/store/block.hpp"
#include "transport/store/sidecar.hpp"
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
constexpr std::size_t most_to_complete = 64;

std::optional<file_contents> contents_of_new(const block_file& file) {
  std::byte head[sizeof(store_file_header)];
  if (read_all(file.descriptor()->get(), 0, head)) return std::nullopt;
  return file_contents(head);
}

void become_proven(stored_session& s) {
  s.proven = true;
  s.numbers = {};
  s.settings_file = 0;
}

[[noreturn]] void fail(const std::string& what, const std::filesystem::path& path) {
  throw std::runtime_error(what + path.string() + ": " + last_error().message());
}

} // namespace

store_writer::store_writer(store_settings settings)
    : settings_(std::move(settings)), folder_(settings_.folder, "receiver") {
  if (const auto error = closed_.recall(folder_))
    news_.push_back("cannot read " + (settings_.folder / store_manifest::file_name).string() +
                    ": " + error.message() +
                    "; what was removed while no receiver ran is not noticed");
  const auto files = block_files_in(settings_.folder);
  for (const block_file_name& f : files)
    scan_file(f, f.number == files.back().number || is_marked(f.number));
  if (settings_.sync && ::fsync(folder_.get()) != 0)
    fail("cannot flush the folder ", settings_.folder);
  committed_ = appended_;
  next_number_ = std::max(files.empty() ? 0 : files.back().number, closed_.highest_recalled()) + 1;
  while (look_for(torn_file_path({}, next_number_).string())) ++next_number_;
  if (next_number_ > highest_file_number / 2)
    throw std::runtime_error(settings_.folder.string() + ": there is a file with the number " +
                             std::to_string(next_number_ - 1) +
                             ", and too few are left for others: move it away");
  find_other_blocks();
  found_ = {};
  compare_with_manifest();
  find_unread_files();
}

store_writer::~store_writer() {
  if (!uncommitted_.empty()) (void)commit();
}

void store_writer::find_other_blocks() {
  if (copies_.blocks != 0)
    news_.push_back(settings_.folder.string() + ": " + std::to_string(copies_.blocks) +
                    " blocks with " + std::to_string(copies_.events) +
                    " events stand there once more; each counts once");
  const auto others = found_.others_in(settings_.folder, store_kind::store, settings_.stop);
  tell_of_files(others, {});
  not_as_written_ += others.size();
}

/// `told`: in rising order.
void store_writer::tell_of_files(const std::vector<std::string>& sentences,
                                 const std::vector<std::string>& told) {
  constexpr std::size_t most_told = 8;
  std::size_t news = 0;
  for (const std::string& sentence : sentences) {
    const bool is_known = std::ranges::binary_search(told, sentence);
    if (!is_known && ++news <= most_told)
      news_.push_back(settings_.folder.string() + ": " + sentence);
  }
  if (news > most_told)
    news_.push_back(settings_.folder.string() + ": and " + std::to_string(news - most_told) +
                    " more files are not read, or not all blocks in them");
}

void store_writer::find_unread_files() {
  std::vector<std::string> found;
  try {
    found = unread_files_in(settings_.folder);
  } catch (const std::filesystem::filesystem_error&) {
    return; // looks tell that the folder is gone
  }
  tell_of_files(found, unread_files_);
  unread_files_ = std::move(found);
  std::ranges::sort(unread_files_);
}

/// Files that are complete, and older ones, were checked: of these, the headers are enough. In an
/// unchecked one, a crash of the machine may have left blocks whose bytes never reached the disk.
void store_writer::scan_file(const block_file_name& file, bool unchecked) {
  const std::uint64_t number = file.number;
  const std::string name = file.text();
  if (file.complete) names_.complete(number, *file.complete);
  if (!file.complete && !unchecked)
    unchecked = store_file(folder_, name, number, store_kind::store).is_renamed();
  const auto scan =
      scan_block_file(folder_, name, number, store_kind::store, unchecked, settings_.stop);
  std::uint64_t wrong_payloads = 0;
  bool damage_stays = false;
  for (const auto& stretch : scan.damaged) {
    if (!stretch.has_header) continue;
    ++wrong_payloads;
    damage_stays = damage_stays || stretch.offset < scan.good_end;
  }
  damaged_ += wrong_payloads + scan.stepped_over;
  // A file without a good block goes as a whole if its head is damaged: readers would take it for
  // no file of a store.
  const bool goes = scan.good_end <= sizeof(store_file_header) && scan.stepped_over > 0;
  const std::uint64_t good_end = goes ? 0 : scan.good_end;
  if (good_end < scan.bytes || good_end == 0) {
    // An end that cannot be read may hold blocks that the daemon was told of.
    if (!scan.readable)
      throw std::runtime_error("cannot read " + (settings_.folder / name).string() +
                               ": the disk refuses a part of it");
    if (!cut_off(number, good_end, scan.bytes)) damage_stays = true;
  }
  if (unchecked && settings_.sync && good_end != 0) flush(name);
  mark(number, damage_stays);
  const bool whole = !damage_stays && scan.stepped_over == 0 && !scan.blocks.empty();
  if (!file.complete && scan.is_renamed && whole) complete_found(file);
  const auto is_there = [&](const std::string& beside) { return look_for(beside).has_value(); };
  if (file.complete && whole && !scan.torn && !is_there(sidecar_name(number, *file.complete)) &&
      !is_there(archive_mark_path({}, number).string()))
    restore_sidecar(file);
  count_found(file, scan);
}

namespace {

bool may_have(const session_tallies& all, const block_header& block) {
  const auto of = all.find(block.session);
  return of != all.end() && of->second.may_have(block.sequence);
}

/// Which numbers these are, where each was there and the found ones tell.
void narrow(block_tally& lost, const block_tally& was, const number_set& found) {
  if (!was.has_each_number()) return;
  const std::uint64_t first = found.first_missing(was.first);
  const std::uint64_t last = found.last_missing(was.last);
  if (first > last || last - first + 1 < lost.blocks) return;
  lost.first = first;
  lost.last = last;
}

} // namespace

/// A block that stands twice counts once: in the file that is listed with it, or in the first one.
/// Where the first ones are empty, the events of the next one count.
void store_writer::count_found(const block_file_name& file, const block_scan& scan) {
  const std::uint64_t number = file.number;
  const session_tallies listed = closed_.recalled(number);
  std::map<std::pair<std::uint64_t, bool>, number_set> here;
  session_tallies of_file;
  session_tallies of_listed;
  std::uint64_t blocks = 0;
  for (const auto& block : scan.blocks) {
    const block_header& h = block.header;
    const std::pair by(h.session, (h.flags & block_proven) != 0);
    const bool is_first_here = here[by].add(h.sequence);
    const auto copy = found_.note(h);
    const bool counts = copy != block_copies::kind::once_more;
    const bool is_listed = may_have(listed, h);
    account_numbers(h, block.behind_damage);
    if (copy == block_copies::kind::first) ++sessions_[h.session].blocks;
    if (counts) {
      account_events(h);
    } else {
      copies_.add(h);
    }
    stored_session& s = sessions_[h.session];
    s.file = number;
    if (h.settings_bytes != 0) {
      s.settings_file = number;
      s.settings_offset = block.offset;
    }
    if (!is_first_here) continue;
    ++blocks;
    if (counts || is_listed) of_file[h.session].add(h);
    if (is_listed) of_listed[h.session].add(h);
  }
  session_tallies lacking = missing_from(listed, of_listed);
  for (auto& [session, lost] : lacking) {
    const auto with = here.find({session, true});
    const auto without = here.find({session, false});
    if (with != here.end() && without != here.end()) continue; // two peers' numbers
    if (with != here.end()) narrow(lost, listed.at(session), with->second);
    if (without != here.end()) narrow(lost, listed.at(session), without->second);
  }
  if (file.complete && (listed.empty() || lacking.empty()))
    compare_with_sidecar(file, scan, blocks);
  if (const auto now = look_for(names_.of(number))) closed_.expect(number, *now, of_file, lacking);
}

/// What the blocks' headers tell; readers compare the payloads. A file that has fewer blocks than
/// its sidecar says has lost them, and that is told by what is listed: once, and not at each start.
void store_writer::compare_with_sidecar(const block_file_name& file, const block_scan& scan,
                                        std::uint64_t blocks) {
  const auto said = read_sidecar(settings_.folder / file.text()).said;
  if (!said || (blocks < said->blocks && !closed_.recalled(file.number).empty())) return;
  const bool is_right = scan.good_end == said->bytes && scan.damaged.empty() &&
                        scan.stepped_over == 0 && (!said->crc || *said->crc == scan.crc);
  if (is_right) return;
  ++not_as_written_;
  news_.push_back((settings_.folder / file.text()).string() +
                  ": other bytes than its sidecar says are in it");
}

/// Without it every reader calls the file damaged. What the manifest lists of it is compared apart.
void store_writer::restore_sidecar(const block_file_name& file) {
  contents_reading reading;
  if (!reading.go_on(folder_, file.text(), file.number, settings_.stop)) throw scan_stopped();
  if (!reading.found() || reading.found()->is_empty() || reading.found()->owner() != *file.complete)
    return;
  const auto error = write_sidecar(sidecar_name(file.number, *file.complete),
                                   reading.found()->sidecar(file.number, settings_.software));
  const std::string name = (settings_.folder / file.text()).string();
  news_.push_back(error ? name + " has no sidecar, and none can be written: " + error.message()
                        : name + " had no sidecar: one is written of what is in it");
}

/// The receiver that wrote it was killed.
void store_writer::complete_found(const block_file_name& name) {
  contents_reading reading;
  if (!reading.go_on(folder_, name.text(), name.number, settings_.stop)) throw scan_stopped();
  if (reading.found()) complete(name.number, *reading.found());
}

std::optional<file_look> store_writer::look_for(const std::string& name) const {
  std::error_code error;
  auto seen = folder_.look(name, error);
  if (error)
    throw std::runtime_error("cannot look at " + (settings_.folder / name).string() + ": " +
                             error.message());
  return seen;
}

/// Moves the torn end of a file aside. False: the disk refuses, as when it is full. Readers then
/// step over the end where it is, and writing goes on in a new file: a receiver that did not start
/// would cost more.
bool store_writer::cut_off(std::uint64_t number, std::uint64_t good_end, std::uint64_t end) {
  const std::string name = names_.of(number);
  const auto path = settings_.folder / name;
  std::error_code error;
  const file_descriptor file = folder_.open(name, O_RDWR, error);
  if (error || set_aside(file.get(), good_end, end - good_end, folder_.get(),
                         torn_file_path({}, number).string())) {
    ++torn_tails_left_;
    return false;
  }
  const bool cut = good_end == 0 ? folder_.remove(name) == 0
                                 : ::ftruncate(file.get(), static_cast<off_t>(good_end)) == 0;
  if (!cut) fail("cannot cut off the torn end of ", path);
  ++torn_tails_;
  return true;
}

bool store_writer::is_marked(std::uint64_t number) const {
  return look_for(damage_mark_path({}, number).string()).has_value();
}

/// A mark takes no room. Without it, blocks in this file whose payloads are wrong would count as
/// stored by their headers, as soon as it is not the newest any more.
void store_writer::mark(std::uint64_t number, bool damage_stays) {
  const std::string name = damage_mark_path({}, number).string();
  if (damage_stays == is_marked(number)) return;
  if (!damage_stays) {
    (void)folder_.remove(name);
    return;
  }
  std::error_code error;
  if (!folder_.create(name, error)) fail("cannot make ", settings_.folder / name);
  (void)::fsync(folder_.get());
}

/// A receiver that was killed may have left blocks that only the system's memory holds, and what
/// is counted now will be called stored.
void store_writer::flush(const std::string& name) const {
  std::error_code error;
  const file_descriptor file = folder_.open(name, O_RDONLY, error);
  if (error || settings_.flush(file.get()) != 0) fail("cannot flush ", settings_.folder / name);
}

void store_writer::account_numbers(const block_header& header, bool behind_damage) {
  auto& s = sessions_[header.session];
  const bool proven = (header.flags & block_proven) != 0;
  if (proven && !s.proven) become_proven(s);
  if (proven == s.proven) {
    if (behind_damage) {
      s.numbers.add_behind_damage(header.sequence);
    } else {
      s.numbers.add(header.sequence);
    }
  }
}

void store_writer::account(const block_header& header, bool behind_damage) {
  account_numbers(header, behind_damage);
  ++sessions_[header.session].blocks;
  account_events(header);
}

void store_writer::account_events(const block_header& header) {
  auto& s = sessions_[header.session];
  s.run = appended_.run = header.run;
  s.node = header.node;
  s.events += header.events;
  s.bytes += events_bytes(header);
  s.repeated += header.repeated;
}

bool store_writer::claim(std::uint64_t session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.proven) return false;
  become_proven(found->second);
  // A commit that fails brings back the session as it was before its new blocks.
  if (const auto before = uncommitted_.find(session); before != uncommitted_.end())
    become_proven(before->second);
  return true;
}

bool store_writer::is_proven(std::uint64_t session) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second.proven;
}

std::uint64_t store_writer::last_stored(std::uint64_t session, std::uint64_t first) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? 0 : found->second.numbers.last(first);
}

/// Those that the block must take along; empty: none.
std::vector<std::byte> store_writer::settings_for(open_file& to, const block_header& block) const {
  const auto known = sessions_.find(block.session);
  if (block.settings_bytes != 0 || known == sessions_.end() || known->second.settings_file == 0 ||
      !to.with_settings.insert(block.session).second)
    return {};
  stored_block from;
  from.offset = known->second.settings_offset;
  std::vector<std::byte> settings(sizeof(block_header));
  try {
    const std::uint64_t number = known->second.settings_file;
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
  stored_session& s = sessions_[block.header.session];
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
  stored_session& s = sessions_[header.session];
  uncommitted_.try_emplace(header.session, s);
  account(header, false);
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
  return {};
}

/// The open file of this run and node; or a new one.
std::error_code store_writer::file_for(const block_header& header, std::size_t bytes,
                                       open_files::iterator& to) {
  const auto known = sessions_.find(header.session);
  const bool is_known = known != sessions_.end() && known->second.blocks > 0;
  file_owner wanted{header.run, header.node, false};
  if (is_known &&
      (known->second.mixed || known->second.run != header.run || known->second.node != header.node))
    wanted = {0, 0, true};
  const auto find = [&] { return std::ranges::find(open_, wanted, &open_file::owner); };
  const auto too_old = [&] { return is_known && to->file.number() < known->second.file; };
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
    complete(number, *contents);
  else if (to_read_.size() < most_to_complete) // the next start completes those beyond
    to_read_.try_emplace(number);
  return {};
}

void store_writer::complete(std::uint64_t number, const file_contents& contents) {
  if (contents.is_empty()) return;
  completion lacks{contents.owner(), contents.sidecar(number, settings_.software)};
  if (const auto error = try_to_complete(number, lacks)) {
    if (to_complete_.empty()) {
      const bool is_taken = error == std::errc::file_exists;
      const std::string remedy = "; " + complete_file_name(number, lacks.owner) +
                                 " is another file: take it away, and start the receiver anew";
      news_.push_back("cannot complete " + (settings_.folder / store_file_name(number)).string() +
                      ": " + error.message() + (is_taken ? remedy : "; it is tried again"));
    }
    // The next start tries it for those that are not remembered.
    if (to_complete_.size() < most_to_complete) to_complete_.emplace(number, std::move(lacks));
  }
}

/// The sidecar comes first: a file whose name says that it is complete has one, whatever ends this
/// process. It does not take the place of another file's.
std::error_code store_writer::try_to_complete(std::uint64_t number, const completion& lacks) {
  const auto& [owner, text] = lacks;
  std::error_code error;
  if (!folder_.look(store_file_name(number), error) && !error)
    return std::make_error_code(std::errc::no_such_file_or_directory);
  if (!error && folder_.look(complete_file_name(number, owner), error))
    return std::make_error_code(std::errc::file_exists);
  if (error) return error;
  error = write_sidecar(sidecar_name(number, owner), text);
  std::error_code unknown;
  const std::string from = store_file_name(number), to = complete_file_name(number, owner);
  const auto before = folder_.look(from, unknown);
  if (!error &&
      ::renameat2(folder_.get(), from.c_str(), folder_.get(), to.c_str(), RENAME_NOREPLACE) != 0)
    error = last_error();
  if (!error) names_.complete(number, owner);
  const auto now = folder_.look(names_.of(number), unknown);
  if (!error && before && now) closed_.rename(number, *before, *now);
  if (!error && settings_.sync && ::fsync(folder_.get()) != 0) error = last_error();
  return error;
}

std::error_code store_writer::write_sidecar(const std::string& name, const std::string& text) {
  const std::string fresh = name + ".new";
  std::error_code error;
  (void)folder_.remove(fresh);
  const file_descriptor file = folder_.create(fresh, error);
  if (!error) error = append_all(file.get(), std::as_bytes(std::span(text)));
  if (!error && settings_.sync && settings_.flush(file.get()) != 0) error = last_error();
  if (!error && ::renameat(folder_.get(), fresh.c_str(), folder_.get(), name.c_str()) != 0)
    error = last_error();
  if (error && file) (void)folder_.remove(fresh);
  return error;
}

/// A file that is gone meanwhile needs no other name; what is in the list tells of it.
void store_writer::complete_what_waits(const stop_question& enough) {
  for (auto at = to_read_.begin(); at != to_read_.end(); at = to_read_.erase(at)) {
    auto& [number, reading] = *at;
    if (!reading.go_on(folder_, names_.of(number), number, enough)) break;
    if (reading.found()) complete(number, *reading.found());
  }
  std::erase_if(to_complete_, [&](const auto& waiting) {
    const auto error = try_to_complete(waiting.first, waiting.second);
    return !error || error == std::errc::no_such_file_or_directory ||
           error == std::errc::file_exists;
  });
}

void store_writer::end_session(std::uint64_t session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  for (open_file& f : open_)
    if (f.file.number() == found->second.file) f.ended = true;
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
  complete_what_waits(settings_.stop);
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
  if (!uncommitted_.empty() && settings_.sync) {
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
  if (!uncommitted_.empty()) {
    for (const open_file& f : open_) add_to_list(f);
    save_list(false);
  }
  for (open_file& f : open_) f.committed_end = f.file.end();
  uncommitted_.clear();
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
  for (const auto& [session, before] : uncommitted_) {
    sessions_[session] = before;
    if (before.blocks == 0 && before.numbers.last() == 0) sessions_.erase(session);
  }
  uncommitted_.clear();
  appended_ = committed_;
}

} // namespace l3
