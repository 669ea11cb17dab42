// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "transport/file/l2raw.hpp"
#include "transport/format/endian.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw std::runtime_error(
      fmt::format("cannot read {}: {}", file.string(), std::generic_category().message(error)));
}

std::span<const std::byte> map(const std::filesystem::path& file) {
  const file_descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) fail(file, errno);
  struct stat status {};
  if (::fstat(in.get(), &status) != 0) fail(file, errno);
  if (S_ISDIR(status.st_mode)) fail(file, EISDIR);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, in.get(), 0);
  if (p == MAP_FAILED) fail(file, errno);
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
