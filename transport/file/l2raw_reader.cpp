// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>

#include "transport/file/l2raw.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

constexpr std::size_t step = 1 << 20;   // smallest read
constexpr std::size_t window = 4 << 20; // ring for readers of single records

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error(file.string() + " " + why);
}

input_file opened(const std::filesystem::path& file) {
  input_file in = open_input(file);
  if (!in.refusal.empty()) fail(file, in.refusal);
  (void)::posix_fadvise(in.file.get(), 0, 0, POSIX_FADV_SEQUENTIAL); // a hint
  return in;
}

mapped_memory room_for(const std::filesystem::path& file, std::uint64_t bytes, l2raw_keep keep) {
  constexpr std::uint64_t longest_record = sizeof(record_header) + max_record_body;
  try {
    return mapped_memory(keep == l2raw_keep::all ? bytes : std::min(bytes, longest_record + step));
  } catch (const std::bad_alloc&) {
    fail(file, fmt::format("has {} bytes, more than the available memory", bytes));
  }
}

} // namespace

std::string file_damage::text() const {
  return fmt::format("offset {}: {}", offset, name_of(reason));
}

l2raw_reader::l2raw_reader(const std::filesystem::path& file, l2raw_keep keep)
    : name_(file), in_(opened(file)), memory_(room_for(file, in_.bytes, keep)),
      window_(keep == l2raw_keep::all ? memory_.size() : std::min(window, memory_.size())) {
  // Fewer TLB misses if the kernel grants it: a replay reads the whole file repeatedly.
  (void)::madvise(memory_.data(), memory_.size(), MADV_HUGEPAGE);
  if (const auto first = next()) {
    auto reason = parse_hello(first->body, hello_);
    if (first->header.type != record_type::hello) reason = refused::stream_content;
    if (reason) damage_ = {0, *reason};
  } else if (!damage_) {
    damage_ = {0, refused::stream_length}; // an empty file
  }
  if (!damage_) first_ = position_;
}

void l2raw_reader::rewind() {
  if (first_ == 0) return; // no valid hello: damage_ stays
  damage_.reset();
  position_ = first_;
  sequence_ = 1;
  if (position_ < begin_) begin_ = end_ = position_;
}

/// The wanted number of bytes from the position on, or as many as the file has.
std::span<const std::byte> l2raw_reader::here(std::uint64_t wanted) {
  wanted = std::min(wanted, in_.bytes - position_);
  if (position_ + wanted > end_) {
    const std::uint64_t left = end_ - position_;
    if (position_ + wanted > begin_ + window_) { // the rest moves to the front
      std::memmove(memory_.data(), memory_.data() + (position_ - begin_), left);
      begin_ = position_;
    }
    const std::uint64_t room = begin_ + std::max<std::uint64_t>(window_, wanted);
    read_until(std::min({in_.bytes, room, std::max(position_ + wanted, end_ + step)}));
  }
  return {memory_.data() + (position_ - begin_), std::min(wanted, end_ - position_)};
}

void l2raw_reader::read_until(std::uint64_t end) {
  while (end_ < end) {
    const auto n = ::pread(in_.file.get(), memory_.data() + (end_ - begin_), end - end_,
                           static_cast<off_t>(end_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(name_, cannot_be_read(last_error()));
    if (n == 0) return; // it was truncated after it was opened
    end_ += static_cast<std::uint64_t>(n);
  }
}

/// The record at the position; its place in the order is not checked.
std::optional<refused> l2raw_reader::read_here(record_view& record) {
  const auto head = here(sizeof(record_header));
  if (head.size() < sizeof(record_header)) return refused::stream_length;
  record = {load<record_header>(head.data()), {}};
  if (const auto reason = check_header(record.header)) return reason;
  const std::uint64_t bytes = sizeof(record_header) + std::uint64_t{record.header.body_bytes};
  const auto whole = here(bytes);
  if (whole.size() < bytes) return refused::stream_length;
  record.body = whole.subspan(sizeof(record_header));
  return check_body(record.header, record.body);
}

std::optional<record_view> l2raw_reader::next() {
  if (damage_ || position_ == in_.bytes) return std::nullopt;
  record_view record{};
  auto reason = read_here(record);
  if (!reason && record.header.sequence != sequence_ + 1) reason = refused::stream_sequence;
  if (reason) {
    damage_ = {position_, *reason, record.header.version};
    return std::nullopt;
  }
  sequence_ = record.header.sequence;
  position_ += sizeof(record_header) + record.body.size();
  return record;
}

std::string fault_of(const l2raw_reader& file) {
  const auto& damage = *file.damage();
  if (damage.reason == refused::stream_version)
    return fmt::format("has version {} of .l2raw files at offset {}, but this program reads "
                       "version {}: use the koto-l3 that wrote it",
                       damage.version, damage.offset, record_version);
  if (damage.offset == 0) return "is not an .l2raw file"; // it has no valid hello
  if (damage.reason == refused::stream_length)
    return fmt::format("ends within a record, at offset {}", damage.offset);
  return fmt::format("is damaged at offset {}: {}", damage.offset, name_of(damage.reason));
}

} // namespace l3
