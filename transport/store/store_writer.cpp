// SPDX-License-Identifier: Apache-2.0
#include "transport/store/store_writer.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include "transport/format/endian.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

constexpr std::size_t copy_step = std::size_t{1} << 20;
constexpr mode_t file_mode = 0644;

[[noreturn]] void fail(const std::string& what, const std::error_code& cause) {
  throw std::runtime_error(what + ": " + cause.message());
}

} // namespace

store_writer::store_writer(store_settings settings)
    : settings_(std::move(settings)),
      folder_(::open(settings_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  const std::string name = settings_.folder.string();
  if (!folder_) fail("cannot open the folder " + name, last_error());
  if (::flock(folder_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw std::runtime_error(name + " is in use by another receiver");
  }
  if (::faccessat(folder_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    fail("cannot write to the folder " + name, last_error());
  }
  scan();
}

store_writer::~store_writer() { (void)commit(); }

void store_writer::scan() {
  const auto numbers = store_file_numbers(settings_.folder);
  for (const auto number : numbers)
    scan_file(number, number == numbers.back() || is_marked(number));
  if (settings_.sync && ::fsync(folder_.get()) != 0) {
    fail("cannot flush the folder " + settings_.folder.string(), last_error());
  }
  committed_ = appended_;
  if (!numbers.empty()) next_number_ = numbers.back() + 1;
  while (std::filesystem::exists(torn_file_path(settings_.folder, next_number_))) ++next_number_;
}

/// Older files were checked when they were the newest: of these, the headers are enough. In an
/// unchecked one, a crash of the machine may have left blocks whose bytes never reached the disk.
void store_writer::scan_file(std::uint64_t number, bool unchecked) {
  store_file file(settings_.folder, number);
  std::uint64_t good_end = std::min<std::uint64_t>(file.size(), sizeof(store_file_header));
  if (file.size() < sizeof(store_file_header)) good_end = 0;
  std::uint64_t wrong_payloads = 0;
  bool damage_stays = false;
  std::vector<std::byte> payload;
  while (const auto block = file.next()) {
    if (unchecked && !file.read_payload(*block, payload)) {
      ++wrong_payloads;
      continue;
    }
    good_end = block->end();
    damage_stays = wrong_payloads > 0;
    account(block->header, wrong_payloads + file.damaged() > 0);
  }
  damaged_ += wrong_payloads + file.damaged();
  // Without a good block, a damaged head alone would make it no file of a store for whoever comes.
  if (good_end <= sizeof(store_file_header) && file.damaged() > 0) good_end = 0;
  if ((good_end < file.size() || good_end == 0) && !set_aside(number, good_end)) {
    damage_stays = true;
  }
  if (unchecked && settings_.sync && good_end != 0) flush(number);
  mark(number, damage_stays);
}

/// False: it finds no room. Readers then step over it where it is, and writing goes on in a new
/// file: a receiver that did not start would cost more.
bool store_writer::set_aside(std::uint64_t number, std::uint64_t good_end) {
  const auto path = store_file_path(settings_.folder, number);
  const auto torn_path = torn_file_path(settings_.folder, number);
  const store_file from(settings_.folder, number);
  const file_descriptor torn(
      ::open(torn_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, file_mode));
  if (!torn) fail("cannot write " + torn_path.string(), last_error());
  const auto leave = [&] {
    ::unlink(torn_path.c_str());
    ++torn_tails_left_;
    return false;
  };
  std::vector<std::byte> bytes;
  for (std::uint64_t at = good_end; at < from.size(); at += bytes.size()) {
    bytes.resize(std::min<std::uint64_t>(copy_step, from.size() - at));
    if (!from.read(at, bytes)) fail("cannot read " + path.string(), last_error());
    if (write_all(torn.get(), at - good_end, bytes)) return leave();
  }
  if (::fsync(torn.get()) != 0) return leave();
  const bool cut = good_end == 0 ? ::unlink(path.c_str()) == 0
                                 : ::truncate(path.c_str(), static_cast<off_t>(good_end)) == 0;
  if (!cut) fail("cannot cut off the torn end of " + path.string(), last_error());
  ++torn_tails_;
  return true;
}

bool store_writer::is_marked(std::uint64_t number) const {
  return std::filesystem::exists(damage_mark_path(settings_.folder, number));
}

/// A mark takes no room. Without it, blocks in this file whose payloads are wrong would count as
/// stored by their headers, as soon as it is not the newest any more.
void store_writer::mark(std::uint64_t number, bool damage_stays) {
  const auto path = damage_mark_path(settings_.folder, number);
  if (damage_stays == is_marked(number)) return;
  if (!damage_stays) {
    ::unlink(path.c_str());
    return;
  }
  const file_descriptor made(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, file_mode));
  if (!made) fail("cannot make " + path.string(), last_error());
  (void)::fsync(folder_.get());
}

/// A receiver that was killed may have left blocks that only the system's memory holds, and what
/// is counted now will be called stored.
void store_writer::flush(std::uint64_t number) const {
  const auto path = store_file_path(settings_.folder, number);
  const file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || settings_.flush(file.get()) != 0)
    fail("cannot flush " + path.string(), last_error());
}

void store_writer::account(const block_header& header, bool behind_damage) {
  auto& s = sessions_[header.session];
  if (behind_damage) {
    s.numbers.add_behind_damage(header.sequence);
  } else {
    s.numbers.add(header.sequence);
  }
  s.run = appended_.run = header.run;
  s.node = header.node;
  ++s.blocks;
  s.events += header.events;
  s.bytes += header.payload_bytes;
  s.repeated += header.repeated;
}

std::uint64_t store_writer::last_stored(std::uint64_t session, std::uint64_t first) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? 0 : found->second.numbers.last(first);
}

std::error_code store_writer::append(std::span<const std::byte> block, const block_header& header) {
  assert(header.sequence > last_stored(header.session));
  if (!file_ ||
      (offset_ > sizeof(store_file_header) && offset_ + block.size() > settings_.file_bytes)) {
    if (const auto error = commit()) return error;
    if (const auto error = open_next_file()) return error;
  }
  if (const auto error = write_at(offset_, block)) return error;
  offset_ += block.size();
  uncommitted_.try_emplace(header.session, sessions_[header.session]);
  account(header, false);
  ++appended_.blocks;
  appended_.events += header.events;
  return {};
}

std::error_code store_writer::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  const auto error = write_all(file_.get(), offset, bytes);
  // Should the cut fail too, the half block is overwritten by the next one, or set aside at the
  // next start.
  if (error) (void)!::ftruncate(file_.get(), static_cast<off_t>(offset));
  return error;
}

std::error_code store_writer::open_next_file() {
  const auto path = store_file_path(settings_.folder, next_number_);
  file_descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode));
  if (!file) return last_error();
  store_file_header header;
  header.number = next_number_;
  auto error = write_all(file.get(), 0, std::as_bytes(std::span(&header, 1)));
  if (!error && settings_.sync && ::fsync(folder_.get()) != 0) error = last_error();
  if (error) {
    ::unlink(path.c_str());
    return error;
  }
  file_ = std::move(file);
  ++next_number_;
  offset_ = committed_offset_ = sizeof header;
  return {};
}

std::error_code store_writer::commit() {
  if (!uncommitted_.empty() && settings_.sync && settings_.flush(file_.get()) != 0) {
    // After a failed sync nobody knows what is on the disk: these blocks were never there, and come
    // again.
    const auto error = last_error();
    (void)!::ftruncate(file_.get(), static_cast<off_t>(committed_offset_));
    offset_ = committed_offset_;
    for (const auto& [session, before] : uncommitted_) {
      sessions_[session] = before;
      if (before.blocks == 0) sessions_.erase(session);
    }
    uncommitted_.clear();
    appended_ = committed_;
    return error;
  }
  committed_offset_ = offset_;
  uncommitted_.clear();
  committed_ = appended_;
  return {};
}

} // namespace l3
