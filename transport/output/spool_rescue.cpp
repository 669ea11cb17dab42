// SPDX-License-Identifier: Apache-2.0
// What a spool does when a person or another program has removed, moved, cut or replaced its files
// or its folder.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "transport/output/spool.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

/// After so many, what the disk refuses of a segment that is written anew is lost.
constexpr int most_refusals = 4;
/// A program that ends writes anew for so long, however late it is: a segment of the default size.
constexpr std::chrono::seconds least_time{2};
/// Between two flushes of what is written anew, so that the last one does not take long.
constexpr std::uint64_t flushed_at_once = std::uint64_t{64} << 20;

} // namespace

/// After this without an error, the names lead to the folder and to the segment that is written.
/// Something else that has the folder's name stays: it may be the place where a file system was
/// mounted.
std::error_code spool::put_in_place(const std::error_code& fault) {
  fault_ = fault;
  in_place_ = false;
  auto now = folder_->check();
  bool may_make = false; // once, of what is removed again and again
  if (now == name_fault::folder_gone) {
    if (!(may_make = rescue_.is_over(system_.now()))) return now;
    auto made = std::make_shared<const held_folder>(folder_->made_anew(now));
    if (now) return now;
    news_.push_back(made->path().string() + ": " + fault.message() + ", and is made again");
    const std::lock_guard guard(lock_);
    folder_ = std::move(made);
  }
  if (now) return now;
  releases_.check(*folder_);
  look_beside();
  if (segment_.is_open()) now = segment_.check(*folder_);
  if (now && (!is_name_fault(now) || !(may_make || rescue_.is_over(system_.now())) ||
              (now = write_anew(now))))
    return now;
  fault_.clear();
  in_place_ = true;
  return {};
}

/// The needed blocks of the segment that is written go into a new one, from the file that is still
/// open. An error is one of the new file, or the disk refuses the old one, and may give it later.
/// What is not in the old one any more, or was refused too often, is lost.
std::error_code spool::write_anew(const std::error_code& why) {
  block_file fresh;
  auto error = fresh.open(*folder_, next_number_, store_kind::spool, system_.flush);
  // A name that is taken is not tried for ever.
  if (!error || error == std::errc::file_exists) ++next_number_;
  if (error) return error;
  std::vector<stored_block> copied;
  std::vector<stored_block> lost;
  error = copy_blocks(fresh, copied, lost);
  if (!error && system_.flush != nullptr) error = fresh.flush(system_.flush);
  if (!error) error = fresh.check(*folder_);
  if (error) {
    (void)folder_->remove(fresh.name());
    return error;
  }
  const auto in_memory =
      std::ranges::count(lost, memory_, [](const stored_block& b) { return b.header.session; });
  news_.push_back(
      (folder_->path() / segment_.name()).string() + ": " + why.message() +
      " while it was written; " + std::to_string(copied.size()) + " blocks of it are now in " +
      fresh.name() + ", " + std::to_string(in_memory) + " are in memory and are written again, " +
      std::to_string(lost.size() - static_cast<std::size_t>(in_memory)) + " are lost" +
      (why == name_fault::file_not_cut ? "" : ": no other program may touch the files of a spool"));
  // What is left of a file that was cut would be taken for blocks by the next start.
  std::error_code unknown;
  const auto old = folder_->look(segment_.name(), unknown);
  if (old && old->who == segment_.identity()) (void)folder_->remove(segment_.name());
  std::vector<std::uint64_t> free;
  {
    const std::lock_guard guard(lock_);
    const auto needed = [&](const stored_block& b) {
      const auto* there = index_.find_block(b.header.session, b.header.sequence);
      return there != nullptr && there->segment == segment_.number() && there->bytes != 0;
    };
    index_.add_segment(fresh.number(), fresh.end());
    files_[fresh.number()] = {fresh.descriptor(), {fresh.identity()}};
    for (const stored_block& b : copied)
      if (needed(b)) (void)index_.add_block(b.header, fresh.number(), b.offset);
    for (const stored_block& b : lost)
      if (needed(b)) (void)give_up(b.header.session, b.header.sequence);
    index_.count_vanished();
    index_.resize_segment(segment_.number(), 0);
    files_[segment_.number()].open = nullptr;
    index_.let_go(std::exchange(written_segment_, fresh.number()));
    free = index_.take_free();
  }
  segment_ = std::move(fresh);
  refusals_ = 0;
  remove(free);
  return {};
}

std::error_code spool::copy_blocks(block_file& to, std::vector<stored_block>& copied,
                                   std::vector<stored_block>& lost) {
  std::vector<std::pair<std::uint64_t, spool_place>> needed;
  {
    const std::lock_guard guard(lock_);
    needed = index_.blocks_in({segment_.number()});
  }
  std::ranges::sort(needed, {}, [](const auto& b) { return b.second.offset; });
  std::vector<std::byte> bytes;
  std::optional<time_point> until; // of the program's end
  std::uint64_t flushed = 0;
  for (const auto& [session, place] : needed) {
    block_header header;
    if (const time_point end = end_by_; end != never) {
      const time_point now = system_.now();
      if (!until) until = std::max(end, now + least_time);
      if (now >= *until) {
        header.session = session;
        header.sequence = place.sequence;
        lost.push_back({header, place.segment, place.offset});
        continue;
      }
    }
    bytes.resize(place.bytes);
    const auto refused = read_all(segment_.descriptor()->get(), place.offset, bytes);
    if (refused && refused != std::errc::result_out_of_range && ++refusals_ < most_refusals)
      return refused;
    if (refused || check_block(bytes, header) != block_fault::none || header.session != session ||
        header.sequence != place.sequence) {
      header.session = session;
      header.sequence = place.sequence;
      lost.push_back({header, place.segment, place.offset});
      continue;
    }
    const std::uint64_t offset = to.end();
    if (const auto error = to.append(bytes)) return error;
    copied.push_back({header, to.number(), offset});
    if (system_.flush == nullptr || to.end() < flushed + flushed_at_once) continue;
    if (const auto error = to.flush(system_.flush)) return error;
    flushed = to.end();
  }
  return {};
}

void spool::keep_beside(std::string name, std::function<void(int)> write) {
  beside_ = std::move(name);
  write_beside_ = std::move(write);
  std::error_code unknown;
  const auto seen = folder_->look(beside_, unknown);
  beside_bytes_ = seen ? seen->bytes : 0;
}

void spool::look_beside() {
  if (beside_.empty()) return;
  std::error_code unknown;
  const auto seen = folder_->look(beside_, unknown);
  if (unknown) return;
  if (!seen || !seen->is_file || seen->bytes != beside_bytes_) write_beside_(folder_->get());
}

void spool::look() {
  auto fault = segment_.is_open() ? segment_.check(*folder_) : folder_->check();
  if (!fault) fault = fault_;
  if (fault) {
    if (put_in_place(fault)) return;
  } else {
    releases_.check(*folder_);
    look_beside();
  }
  give_up_what_is_gone();
}

/// Under the lock. False: memory has the block, and it is not lost.
bool spool::give_up(std::uint64_t session, std::uint64_t sequence) {
  if (session != memory_) {
    index_.mark_damaged(session, sequence);
    return true;
  }
  index_.drop(session, sequence);
  vanished_ = vanished_ == 0 ? sequence : std::min(vanished_, sequence);
  return false;
}

/// Files of segments that are not written any more, and are not what they were. What a file is that
/// cannot be looked at is not known: the next look tells.
spool::changed_files spool::look_at_files() {
  std::map<std::uint64_t, file_look> expected;
  {
    const std::lock_guard guard(lock_);
    for (const auto& [number, bytes] : index_.segments())
      if (const auto known = files_.find(number);
          bytes != 0 && number != written_segment_ && known != files_.end())
        expected.emplace(number, known->second.as);
  }
  changed_files changed;
  for (const auto& [number, as] : expected) {
    std::error_code unknown;
    const auto now = folder_->look(name_of(number), unknown);
    if (unknown) {
      cannot_look_at(number, unknown);
    } else if (!now || *now != as) {
      changed[number].now = now;
    }
  }
  return changed;
}

void spool::cannot_look_at(std::uint64_t segment, const std::error_code& why) {
  if (unknown_) return;
  unknown_ = why;
  if (unknown_ == unknown_told_) return;
  news_.push_back((folder_->path() / name_of(segment)).string() +
                  ": cannot be looked at: " + why.message());
}

/// No error: the block is there. `file_changed`: it is not. Any other: it is not known.
std::error_code spool::find(const changed_file& file, std::uint64_t session,
                            const spool_place& place) const {
  const bool may_have = file.now && file.now->is_file && place.offset < file.now->bytes &&
                        place.bytes <= file.now->bytes - place.offset;
  if (!may_have) return name_fault::file_changed;
  std::vector<std::byte> bytes;
  block_header header;
  if (const auto error = fetch(place, {}, bytes))
    return is_final(error) ? make_error_code(name_fault::file_changed) : error;
  const bool there = check_block(bytes, header) == block_fault::none && header.session == session &&
                     header.sequence == place.sequence;
  return there ? std::error_code() : name_fault::file_changed;
}

/// What a changed file has still is found where it was, also in a copy. What has no file is given
/// up at once, the rest as it is read.
void spool::give_up_what_is_gone() {
  const time_point began = steady_clock::now();
  const changed_files changed = look_at_files();
  changed_files known;
  std::vector<std::uint64_t> to_read;
  for (const auto& [number, file] : changed)
    if (file.now && file.now->is_file) to_read.push_back(number);
  in_order_of_reading(to_read, changed);
  std::uint64_t unread = 0;
  for (const std::uint64_t number : to_read) {
    if (unread != 0 || !read_on(number, changed.at(number), began, known.empty())) {
      ++unread;
      continue;
    }
    known[number] = std::exchange(reading_, std::nullopt)->file;
    last_read_ = number;
  }
  std::set<std::uint64_t> without_file;
  for (const auto& [number, file] : changed)
    if (!file.now || !file.now->is_file) {
      known[number] = file;
      without_file.insert(number);
    }
  if (!without_file.empty()) {
    std::vector<std::pair<std::uint64_t, spool_place>> blocks;
    {
      const std::lock_guard guard(lock_);
      blocks = index_.blocks_in(without_file);
    }
    for (const auto& [session, place] : blocks)
      give_up_if_gone(known[place.segment], session, place);
  }
  if (to_read.empty()) reading_.reset();
  if (!known.empty()) take_as_it_is(known);
  if ((unread_.exchange(unread) == 0) != (unread == 0))
    news_.push_back(folder_->path().string() +
                    (unread == 0 ? ": what was touched has been read"
                                 : ": another program may have touched " + std::to_string(unread) +
                                       " segments, which are read again; until then it is not "
                                       "known whether they hold what was written"));
  unknown_told_ = std::exchange(unknown_, {});
}

/// The one that is being read; then what cannot be what it was; then what was only touched, in
/// turn: one that is touched again and again keeps none behind it waiting.
void spool::in_order_of_reading(std::vector<std::uint64_t>& numbers,
                                const changed_files& changed) const {
  const std::lock_guard guard(lock_);
  std::ranges::sort(numbers, {}, [&](std::uint64_t number) {
    const auto known = files_.find(number);
    const auto& now = changed.at(number).now;
    const bool is_another = known == files_.end() || now->who != known->second.as.who ||
                            now->bytes != known->second.as.bytes;
    const bool is_read = reading_ && reading_->number == number;
    return std::tuple(!is_read, !is_another, number <= last_read_, number);
  });
}

/// True: `reading_` is at its end. A segment that is written to while it is read comes once more.
bool spool::read_on(std::uint64_t number, const changed_file& file, time_point began, bool a_step) {
  const bool goes_on = reading_ && reading_->number == number &&
                       reading_->file.now->who == file.now->who &&
                       reading_->file.now->bytes == file.now->bytes;
  if (!goes_on) reading_ = {number, file, 0};
  std::vector<std::pair<std::uint64_t, spool_place>> blocks;
  {
    const std::lock_guard guard(lock_);
    blocks = index_.blocks_in({number});
  }
  std::ranges::sort(blocks, {}, [](const auto& b) { return b.second.offset; });
  for (const auto& [session, place] : blocks) {
    if (place.offset < reading_->next) continue;
    if (system_.has_read_enough(began) && !a_step) return false;
    a_step = false;
    give_up_if_gone(reading_->file, session, place);
    reading_->next = place.offset + 1;
  }
  return true;
}

void spool::give_up_if_gone(changed_file& file, std::uint64_t session, const spool_place& place) {
  const auto fault = find(file, session, place);
  if (fault != name_fault::file_changed) {
    ++file.kept;
    if (!fault) return;
    file.is_known = false;
    cannot_look_at(place.segment, fault);
    return;
  }
  const std::lock_guard guard(lock_);
  const auto* there = index_.find_block(session, place.sequence);
  if (there == nullptr || there->segment != place.segment || there->bytes == 0) return;
  if (give_up(session, place.sequence)) {
    ++file.lost;
    file.events += place.events;
  } else {
    ++file.in_memory;
  }
}

void spool::take_as_it_is(const changed_files& changed) {
  std::vector<std::uint64_t> free;
  {
    const std::lock_guard guard(lock_);
    for (const auto& [number, file] : changed) {
      const auto known = files_.find(number);
      if (known == files_.end()) continue; // it was released and removed meanwhile
      if (file.lost + file.in_memory != 0) index_.count_vanished();
      if (!file.is_known) continue;
      // A file with none of its blocks is another one that has its name.
      known->second.as = file.kept != 0 ? *file.now : file_look();
      index_.resize_segment(number, file.kept != 0 ? file.now->bytes : 0);
    }
    free = index_.take_free();
  }
  tell(changed);
  remove(free);
}

/// Of very many files, a few and the sum of the others.
void spool::tell(const changed_files& changed) {
  constexpr std::size_t most = 8;
  std::size_t told = 0;
  std::size_t others = 0;
  changed_file sum;
  const auto text_of = [](const changed_file& file) {
    return std::to_string(file.lost) + " with " + std::to_string(file.events) +
           " events are lost, " + std::to_string(file.in_memory) +
           " are in memory and are written again";
  };
  for (const auto& [number, file] : changed) {
    if (file.lost + file.in_memory == 0) continue;
    if (told++ < most) {
      const auto why = !file.now           ? name_fault::file_gone
                       : file.now->is_file ? name_fault::file_changed
                                           : name_fault::file_taken;
      news_.push_back((folder_->path() / name_of(number)).string() + ": " +
                      make_error_code(why).message() + "; of its blocks " + text_of(file));
    } else {
      ++others;
      sum.lost += file.lost;
      sum.events += file.events;
      sum.in_memory += file.in_memory;
    }
  }
  if (others != 0)
    news_.push_back("and " + std::to_string(others) + " more segments; of their blocks " +
                    text_of(sum));
}

} // namespace l3
