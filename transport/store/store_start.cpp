// SPDX-License-Identifier: Apache-2.0
// What the start of a writer finds in a store, and mends: a torn end of a file is set aside, a file
// that was left without its name or its sidecar gets it, and what the manifest lists is held
// against what is there. The disk may refuse a part of that; what cannot be mended is counted and
// told.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "transport/store/number_set.hpp"
#include "transport/store/sidecar.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/store/store_writer.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

constexpr std::string_view not_read = "are not read, or not all blocks in them";

[[noreturn]] void fail(const std::string& what, const std::filesystem::path& path) {
  throw std::runtime_error(what + path.string() + ": " + last_error().message());
}

} // namespace

store_writer::store_writer(store_settings settings)
    : settings_(std::move(settings)), folder_(settings_.folder, "receiver"),
      completion_({settings_.software, settings_.sync, settings_.flush}, folder_, names_, closed_,
                  news_) {
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

void store_writer::find_other_blocks() {
  tell_of_files(misnamed_, {}, "have another number in their heads than in their names");
  misnamed_.clear();
  if (copies_.blocks != 0)
    news_.push_back(settings_.folder.string() + ": " + std::to_string(copies_.blocks) +
                    " blocks with " + std::to_string(copies_.events) +
                    " events stand there once more; each counts once");
  const auto others = found_.others_in(settings_.folder, store_kind::store, settings_.stop);
  tell_of_files(others, {}, not_read);
  not_as_written_ += others.size();
}

/// `told`: in rising order.
void store_writer::tell_of_files(const std::vector<std::string>& sentences,
                                 const std::vector<std::string>& told, std::string_view others) {
  constexpr std::size_t most_told = 8;
  std::size_t news = 0;
  for (const std::string& sentence : sentences) {
    const bool is_known = std::ranges::binary_search(told, sentence);
    if (!is_known && ++news <= most_told)
      news_.push_back(settings_.folder.string() + ": " + sentence);
  }
  if (news > most_told)
    news_.push_back(settings_.folder.string() + ": and " + std::to_string(news - most_told) +
                    " more files " + std::string(others));
}

void store_writer::find_unread_files() {
  std::vector<std::string> found;
  try {
    found = unread_files_in(settings_.folder);
  } catch (const std::filesystem::filesystem_error&) {
    return; // looks tell that the folder is gone
  }
  tell_of_files(found, unread_files_, not_read);
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
  if (scan.other_number) misnamed_.push_back(misnaming_of(name, *scan.other_number));
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
  const bool whole =
      !damage_stays && scan.stepped_over == 0 && !scan.other_number && !scan.blocks.empty();
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
  std::map<std::uint64_t, number_set> here;
  session_tallies of_file;
  session_tallies of_listed;
  std::uint64_t blocks = 0;
  for (const auto& block : scan.blocks) {
    const block_header& h = block.header;
    const bool is_first_here = here[h.session].add(h.sequence);
    const auto copy = found_.note(h);
    const bool counts = copy != block_copies::kind::once_more;
    const bool is_listed = may_have(listed, h);
    sessions_.add_number(h, block.behind_damage);
    stored_session& s = sessions_.of(h.session);
    if (copy == block_copies::kind::first) ++s.blocks;
    if (counts) {
      sessions_.add_events(h);
      appended_.run = h.run;
    } else {
      copies_.add(h);
    }
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
    const auto found = here.find(session);
    if (found != here.end()) narrow(lost, listed.at(session), found->second);
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
  const auto error = completion_.write_sidecar(file.number, *reading.found());
  const std::string name = (settings_.folder / file.text()).string();
  news_.push_back(error ? name + " has no sidecar, and none can be written: " + error.message()
                        : name + " had no sidecar: one is written of what is in it");
}

/// The receiver that wrote it was killed.
void store_writer::complete_found(const block_file_name& name) {
  contents_reading reading;
  if (!reading.go_on(folder_, name.text(), name.number, settings_.stop)) throw scan_stopped();
  if (reading.found()) completion_.complete(name.number, *reading.found());
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

} // namespace l3
