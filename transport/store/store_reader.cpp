// SPDX-License-Identifier: Apache-2.0
#include "transport/store/store_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

#include "transport/format/block_entries.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/block.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

constexpr std::size_t search_step = std::size_t{1} << 20;

/// O_NONBLOCK: opening a pipe without a writer does not wait; the pipe is then refused.
file_descriptor opened(const std::string& path) {
  file_descriptor file(
      ask_again([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  if (!file) throw std::system_error(errno, std::generic_category(), "cannot read " + path);
  struct stat seen {};
  if (ask_again([&] { return ::fstat(file.get(), &seen); }) != 0)
    throw std::system_error(last_error(), "cannot look at " + path);
  if (!S_ISREG(seen.st_mode))
    throw std::runtime_error("cannot read " + path + ": it is not a file");
  return file;
}

} // namespace

store_file::store_file(const std::filesystem::path& folder, const block_file_name& name,
                       store_kind kind, stop_question stop)
    : number_(name.number), kind_(kind), path_((folder / name.text(kind)).string()),
      stop_(std::move(stop)) {
  try {
    file_ = opened(path_);
  } catch (const std::system_error&) { // its receiver may just have completed it
    const std::string renamed = find_store_file(folder, name, kind).string();
    if (renamed == path_) throw;
    path_ = renamed;
    file_ = opened(path_);
  }
}

store_file::store_file(const std::filesystem::path& file, store_kind kind, stop_question stop)
    : number_(0), kind_(kind), path_(file.string()), file_(opened(path_)), stop_(std::move(stop)) {
  std::byte bytes[sizeof(store_file_header)];
  if (!read(0, bytes)) return;
  const auto head = load<store_file_header>(bytes);
  if (head.magic == store_file_header{}.magic) number_ = head.number;
}

void store_file::stop_if_told() const {
  if (stop_ && stop_()) throw scan_stopped();
}

bool store_file::can_be_read(std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t end = offset + bytes;
  std::vector<std::byte> part;
  for (auto at = next_data(file_.get(), offset, end); at < end;
       at = next_data(file_.get(), at + part.size(), end)) {
    stop_if_told();
    part.resize(std::min<std::uint64_t>(search_step, end - at));
    if (!read(at, part)) return false;
  }
  return true;
}

bool store_file::read(std::uint64_t offset, std::span<std::byte> to) const {
  const auto error = read_all(file_.get(), offset, to);
  if (error && error != std::errc::result_out_of_range) refused_ = error;
  return !error;
}

std::uint64_t store_file::size() const {
  struct stat seen {};
  if (ask_again([&] { return ::fstat(file_.get(), &seen); }) == 0)
    return static_cast<std::uint64_t>(seen.st_size);
  refused_ = last_error();
  return 0;
}

std::optional<stored_block> store_file::whole_block_at(std::uint64_t offset) const {
  std::byte bytes[sizeof(block_header)];
  stored_block block;
  if (!read(offset, bytes)) return std::nullopt;
  if (read_block_header(bytes, block.header) != block_fault::none) return std::nullopt;
  block.file = number_;
  block.offset = offset;
  if (block.end() > size()) return std::nullopt;
  return block;
}

/// Finds the next block after a damaged header by its magic number and header checksum. Afterwards
/// no valid block begins before `offset`.
std::optional<stored_block> store_file::search_from(std::uint64_t& offset) const {
  const auto magic = block_header{}.magic;
  std::vector<std::byte> bytes;
  for (const std::uint64_t end = size(); offset + sizeof(block_header) <= end;) {
    // A block cannot begin in a hole, because its magic number is not zero.
    offset = next_data(file_.get(), offset, end);
    if (offset == end) return std::nullopt;
    bytes.resize(std::min<std::uint64_t>(search_step, end - offset));
    if (!read(offset, bytes)) return std::nullopt;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (auto at = text.find(magic.data(), 0, magic.size()); at != text.npos;
         at = text.find(magic.data(), at + 1, magic.size())) {
      if (auto block = whole_block_at(offset + at)) return block;
    }
    if (bytes.size() < magic.size()) return std::nullopt;
    offset += bytes.size() - (magic.size() - 1); // a magic number may cross two steps
    stop_if_told();
  }
  return std::nullopt;
}

/// A missing or unwritten head is accepted. A damaged one costs no blocks, because they identify
/// themselves.
void store_file::check_head() {
  std::byte bytes[sizeof(store_file_header)];
  if (head_checked_ || !read(0, bytes)) return;
  head_checked_ = true;
  if (std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; })) return;
  const auto head = load<store_file_header>(bytes);
  const store_file_header ours;
  const auto refuse = [&](const std::string& text) {
    // The missing part may be what the disk refused.
    if (refused_) throw std::system_error(refused_, "cannot read " + path_);
    throw std::runtime_error(path_ + text);
  };
  if (head.magic == ours.magic && head.version != ours.version) {
    refuse(" has version " + std::to_string(head.version) +
           " of the store format; this program reads version " + std::to_string(ours.version));
  }
  if (head.magic == ours.magic) return;
  if (kind_ == store_kind::store && !whole_block_at(sizeof head)) {
    refuse(" is not a file of a store");
  }
  ++damaged_;
}

std::optional<stored_block> store_file::next() {
  stop_if_told();
  check_head();
  auto block = whole_block_at(next_);
  if (!block) {
    // This is the end, an incomplete block, or damage: the bytes after it tell.
    searched_ = std::max(searched_, next_ + 1);
    block = search_from(searched_);
    searched_ = 0; // also at the end, where more may be written
    if (!block) return std::nullopt;
    ++damaged_;
  }
  next_ = block->end();
  return block;
}

std::optional<torn_end> store_file::torn() const {
  const std::uint64_t all = size();
  const std::uint64_t good = all < sizeof(store_file_header) ? 0 : next_;
  if (all > 0 && all == good) return std::nullopt;
  return torn_end{path_, all - good};
}

std::string text_of(const torn_end& end) {
  return end.path + ": its last " + std::to_string(end.bytes) +
         " bytes are not a whole block: torn by a crash, truncated, or still being written";
}

/// Piece by piece, because a header may claim a gigabyte.
bool store_file::payload_is_right(const stored_block& block) const {
  std::vector<std::byte> part;
  std::uint32_t crc = 0;
  for (std::uint64_t at = block.payload_offset(); at < block.end(); at += part.size()) {
    stop_if_told();
    part.resize(std::min<std::uint64_t>(search_step, block.end() - at));
    if (!read(at, part)) return false;
    crc = crc32c(part, crc);
  }
  return crc == block.header.payload_crc;
}

bool store_file::read_payload(const stored_block& block, std::vector<std::byte>& payload) const {
  payload.resize(block.header.payload_bytes);
  const bool right =
      read(block.payload_offset(), payload) && crc32c(payload) == block.header.payload_crc;
  payload.resize(events_bytes(block.header));
  return right;
}

bool store_file::read_settings(const stored_block& block, std::vector<std::byte>& settings) const {
  const bool right = read_entries(block, settings);
  settings.resize(settings_length(settings));
  return right;
}

bool store_file::read_entries(const stored_block& block, std::vector<std::byte>& entries) const {
  entries.clear();
  if (block.header.settings_bytes == 0) return true;
  entries.resize(block.header.payload_bytes);
  const bool right =
      read(block.payload_offset(), entries) && crc32c(entries) == block.header.payload_crc;
  entries.erase(entries.begin(),
                entries.begin() + static_cast<std::ptrdiff_t>(events_bytes(block.header)));
  return right;
}

namespace {

block_scan scan_once(const held_folder& folder, const block_file_name& name, store_kind kind,
                     bool thorough, const stop_question& stop) {
  store_file file(folder.path(), name, kind, stop);
  block_scan found;
  found.bytes = file.size();
  found.good_end = found.bytes < sizeof(store_file_header) ? 0 : sizeof(store_file_header);
  std::uint64_t seen_end = found.good_end;
  while (const auto block = file.next()) {
    if (block->offset > seen_end) found.damaged.push_back({seen_end, block->offset - seen_end});
    seen_end = block->end();
    if (thorough && !file.payload_is_right(*block)) {
      found.damaged.push_back(
          {block->offset, block->end() - block->offset, true, block->header.events});
      continue;
    }
    found.good_end = block->end();
    const bool behind_damage = file.damaged() > 0 || !found.damaged.empty();
    found.blocks.push_back({*block, behind_damage});
  }
  found.stepped_over = file.damaged();
  if (found.bytes > seen_end) found.torn = {seen_end, found.bytes - seen_end};

  // Skipped bytes may be valid but unreadable.
  const auto reached = [&](const damaged_stretch& s) {
    return file.can_be_read(s.offset, s.bytes);
  };
  found.readable = std::ranges::all_of(found.damaged, reached) &&
                   (!found.torn || reached(*found.torn)) && !file.refused();
  return found;
}

} // namespace

block_scan scan_block_file(const held_folder& folder, const block_file_name& name, store_kind kind,
                           bool thorough, const stop_question& stop) {
  auto found = scan_once(folder, name, kind, thorough, stop);
  return found.readable ? found : scan_once(folder, name, kind, thorough, stop);
}

store_reader::store_reader(std::filesystem::path folder, stop_question stop)
    : folder_(std::move(folder)), kind_(kind_of(folder_)), stop_(std::move(stop)) {
  listed_ = block_files_in(folder_, kind_); // throws if there is no such folder
  std::ranges::reverse(listed_);
}

/// Returns nothing if the file was removed after it was listed, as a daemon removes spool segments.
std::optional<store_file> store_reader::opened_file(const block_file_name& name) {
  try {
    return store_file(folder_, name, kind_, stop_);
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::no_such_file_or_directory) throw;
    if (stop_ && stop_()) throw scan_stopped();
    listed_.pop_back();
    return std::nullopt;
  }
}

/// The number of the file after the current one, if it exists. Lists the folder again after all
/// listed files have been read.
std::optional<block_file_name> store_reader::following() {
  const std::uint64_t present = file_ ? file_->number() : 0;
  if (listed_.empty()) {
    listed_ = block_files_in(folder_, kind_);
    std::ranges::reverse(listed_);
  }
  while (!listed_.empty() && listed_.back().number <= present) listed_.pop_back();
  if (listed_.empty()) return std::nullopt;
  return listed_.back();
}

std::optional<stored_block> store_reader::next() {
  while (true) {
    if (file_) {
      if (auto block = file_->next()) return block;
    }
    const auto name = following();
    if (!name) return std::nullopt;
    auto file = opened_file(*name);
    if (!file) continue;
    // Blocks may have come between the two listings. A later reader finds blocks that a receiver
    // adds to this file while it already writes another.
    if (file_) {
      if (auto block = file_->next()) return block;
      damaged_ += damaged_in_file();
      torn_ends_ = torn_ends();
    }
    file_ = std::move(*file);
    is_complete_ = name->complete.has_value();
  }
}

/// A torn end of a complete file is damage.
std::uint64_t store_reader::damaged_in_file() const {
  return file_->damaged() + (is_complete_ && file_->torn() ? 1 : 0);
}

std::vector<torn_end> store_reader::torn_ends() const {
  auto all = torn_ends_;
  if (file_ && !is_complete_)
    if (auto end = file_->torn()) all.push_back(std::move(*end));
  return all;
}

} // namespace l3
