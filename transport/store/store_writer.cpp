// SPDX-License-Identifier: Apache-2.0
#include "transport/store/store_writer.hpp"

#include <cassert>
#include <stdexcept>

#include <fcntl.h>

#include "transport/store/store_reader.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

/// A file gets a successor when it has so many blocks: 5 MB of what is known of them.
constexpr std::size_t most_blocks = std::size_t{1} << 16;

void become_proven(stored_session& s) {
  s.proven = true;
  s.numbers = {};
}

[[noreturn]] void fail(const std::string& what, const std::filesystem::path& path) {
  throw std::runtime_error(what + path.string() + ": " + last_error().message());
}

} // namespace

store_writer::store_writer(store_settings settings)
    : settings_(std::move(settings)), folder_(settings_.folder, "receiver") {
  const auto numbers = store_file_numbers(settings_.folder);
  for (const auto number : numbers)
    scan_file(number, number == numbers.back() || is_marked(number));
  if (settings_.sync && ::fsync(folder_.get()) != 0)
    fail("cannot flush the folder ", settings_.folder);
  committed_ = appended_;
  if (!numbers.empty()) next_number_ = numbers.back() + 1;
  while (folder_.look(torn_file_path({}, next_number_).string())) ++next_number_;
}

store_writer::~store_writer() {
  if (!uncommitted_.empty()) (void)commit();
}

/// Older files were checked when they were the newest: of these, the headers are enough. In an
/// unchecked one, a crash of the machine may have left blocks whose bytes never reached the disk.
void store_writer::scan_file(std::uint64_t number, bool unchecked) {
  const auto scan = scan_block_file(folder_, number, store_kind::store, unchecked, settings_.stop);
  session_tallies found;
  for (const auto& block : scan.blocks) {
    account(block.header, block.behind_damage);
    found[block.header.session].add(block.header);
  }
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
      throw std::runtime_error("cannot read " + store_file_path(settings_.folder, number).string() +
                               ": the disk refuses a part of it");
    if (!cut_off(number, good_end, scan.bytes)) damage_stays = true;
  }
  if (unchecked && settings_.sync && good_end != 0) flush(number);
  mark(number, damage_stays);
  if (const auto now = folder_.look(store_file_name(number))) closed_.expect(number, *now, found);
}

/// Moves the torn end of a file aside. False: the disk refuses, as when it is full. Readers then
/// step over the end where it is, and writing goes on in a new file: a receiver that did not start
/// would cost more.
bool store_writer::cut_off(std::uint64_t number, std::uint64_t good_end, std::uint64_t end) {
  const std::string name = store_file_name(number);
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
  return folder_.look(damage_mark_path({}, number).string()).has_value();
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
void store_writer::flush(std::uint64_t number) const {
  const std::string name = store_file_name(number);
  std::error_code error;
  const file_descriptor file = folder_.open(name, O_RDONLY, error);
  if (error || settings_.flush(file.get()) != 0) fail("cannot flush ", settings_.folder / name);
}

void store_writer::account(const block_header& header, bool behind_damage) {
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
  s.run = appended_.run = header.run;
  s.node = header.node;
  ++s.blocks;
  s.events += header.events;
  s.bytes += header.payload_bytes;
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

std::error_code store_writer::append(std::span<const std::byte> block, const block_header& header) {
  assert(header.sequence > last_stored(header.session));
  if (!file_.is_open() || file_.is_full_for(block.size(), settings_.file_bytes) ||
      blocks_.size() >= most_blocks) {
    if (const auto error = commit()) return error;
    if (const auto error = open_next_file()) return error;
  }
  const std::uint64_t offset = file_.end();
  if (const auto error = file_.append(block)) return error;
  uncommitted_.try_emplace(header.session, sessions_[header.session]);
  account(header, false);
  blocks_.push_back({header, file_.number(), offset});
  ++appended_.blocks;
  appended_.events += header.events;
  return {};
}

std::error_code store_writer::open_next_file() {
  session_tallies written;
  for (const stored_block& b : blocks_) written[b.header.session].add(b.header);
  if (file_.is_open())
    closed_.expect(file_.number(), look_at(file_.descriptor()->get()).value_or(file_look()),
                   written);
  blocks_.clear();
  file_.close();
  if (const auto error = file_.open(folder_, next_number_, store_kind::store,
                                    settings_.sync ? ::fsync : nullptr)) {
    // A name that is taken is not tried for ever.
    if (error == std::errc::file_exists) ++next_number_;
    return error;
  }
  ++next_number_;
  committed_end_ = file_.end();
  return {};
}

/// After a failed flush it is not known what is on the disk: these blocks were never there, and
/// come again.
std::error_code store_writer::commit() {
  if (!uncommitted_.empty() && settings_.sync) {
    if (const auto error = file_.flush(settings_.flush)) {
      file_.cut(committed_end_);
      take_back();
      return error;
    }
  }
  if (const auto fault = file_.is_open() ? file_.check(folder_) : folder_.check()) {
    if (file_.is_open()) file_.cut(committed_end_);
    take_back();
    const auto error = write_anew();
    return error ? error : fault;
  }
  committed_end_ = file_.end();
  uncommitted_.clear();
  committed_ = appended_;
  return {};
}

void store_writer::take_back() {
  for (const auto& [session, before] : uncommitted_) {
    sessions_[session] = before;
    if (before.blocks == 0 && before.numbers.last() == 0) sessions_.erase(session);
  }
  uncommitted_.clear();
  appended_ = committed_;
  while (!blocks_.empty() && blocks_.back().offset >= committed_end_) blocks_.pop_back();
}

} // namespace l3
