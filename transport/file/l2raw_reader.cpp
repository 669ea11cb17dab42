// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <stdexcept>

#include <fmt/format.h>

#include "transport/file/l2raw.hpp"
#include "transport/format/endian.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error(file.string() + " " + why);
}

std::span<const std::byte> map(const std::filesystem::path& file) {
  const input_file in = open_input(file);
  if (!in.refusal.empty()) fail(file, in.refusal);
  const auto size = static_cast<std::size_t>(in.bytes);
  if (size == 0) return {};
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, in.file.get(), 0);
  if (p == MAP_FAILED) fail(file, cannot_be_read(last_error()));
  ::madvise(p, size, MADV_SEQUENTIAL);
  return {static_cast<const std::byte*>(p), size};
}

} // namespace

std::string file_damage::text() const {
  return fmt::format("offset {}: {}", offset, name_of(reason));
}

l2raw_reader::l2raw_reader(const std::filesystem::path& file) : bytes_(map(file)) {
  if (const auto first = read()) {
    auto reason = parse_hello(first->body, hello_);
    if (first->header.type != record_type::hello) reason = refused::stream_content;
    if (reason) damage_ = {0, *reason};
  } else if (!damage_) {
    damage_ = {0, refused::stream_length}; // an empty file
  }
  if (!damage_) first_ = position_;
}

l2raw_reader::~l2raw_reader() {
  if (bytes_.empty()) return;
  // This object made the mapping; munmap takes it without const.
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::optional<record_view> l2raw_reader::next() { return read(); }

void l2raw_reader::rewind() {
  if (first_ == 0) return; // no good hello: damage_ stays
  damage_.reset();
  position_ = first_;
  sequence_ = 1;
}

std::optional<record_view> l2raw_reader::read() {
  if (damage_ || position_ == bytes_.size()) return std::nullopt;
  const auto stop = [this](refused reason) {
    damage_ = {position_, reason};
    return std::nullopt;
  };
  const auto rest = bytes_.subspan(position_);
  if (rest.size() < sizeof(record_header)) return stop(refused::stream_length);
  record_view record{load<record_header>(rest.data()), {}};
  if (const auto reason = check_header(record.header)) return stop(*reason);
  if (rest.size() - sizeof(record_header) < record.header.body_bytes)
    return stop(refused::stream_length);
  record.body = rest.subspan(sizeof(record_header), record.header.body_bytes);
  if (const auto reason = check_body(record.header, record.body)) return stop(*reason);
  if (record.header.sequence != sequence_ + 1) return stop(refused::stream_sequence);
  sequence_ = record.header.sequence;
  position_ += sizeof(record_header) + record.body.size();
  return record;
}

} // namespace l3
