// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "transport/file/l2raw.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/time.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr std::array<std::byte, 4> padding{};

[[noreturn]] void fail(const char* what, const std::filesystem::path& file, int error) {
  throw std::runtime_error(std::string(what) + " " + file.string() + ": " +
                           std::generic_category().message(error));
}

template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

std::span<const std::byte> padding_of(std::size_t bytes) {
  return std::span(padding).first(round_up(bytes, 4) - bytes);
}

} // namespace

l2raw_writer::l2raw_writer(const std::filesystem::path& file, std::uint32_t run, readout crates)
    : file_(file), crates_(std::move(crates)) {
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("cannot create", file_, errno);
  buffer_.reserve(buffer_bytes);
  record(record_type::hello, 0, hello_bytes(run, crates_));
}

l2raw_writer::~l2raw_writer() {
  if (descriptor_ < 0) return;
  try {
    close();
  } catch (const std::runtime_error&) {
    ::close(std::exchange(descriptor_, -1));
  }
}

void l2raw_writer::begin_of_spill(std::uint32_t spill, std::chrono::nanoseconds beam_on) {
  spill_ = spill;
  spill_events_ = 0;
  record(record_type::begin_of_spill, spill_,
         bytes_of(begin_of_spill_body{whole_nanoseconds(beam_on), 0}));
}

void l2raw_writer::event(std::uint32_t number, std::chrono::nanoseconds since_spill,
                         std::span<const crate_fragment> fragments) {
  table_.resize(event_table_bytes(fragments.size()));
  store(table_.data(), event_body{number, static_cast<std::uint32_t>(fragments.size()),
                                  whole_nanoseconds(since_spill)});
  std::size_t body_bytes = table_.size();
  for (std::size_t f = 0; f < fragments.size(); ++f) {
    const auto bytes = static_cast<std::uint32_t>(fragments[f].bytes.size());
    store(table_.data() + event_table_bytes(f), event_fragment{fragments[f].crate, 0, bytes});
    body_bytes += round_up(bytes, 4);
  }
  if (body_bytes > max_record_body)
    throw std::runtime_error("an event is too large for " + file_.string());

  std::uint32_t crc = crc32c(table_);
  for (const auto& f : fragments) crc = crc32c(padding_of(f.bytes.size()), crc32c(f.bytes, crc));
  append(bytes_of(sealed_header(record_type::event, spill_, ++sequence_,
                                static_cast<std::uint32_t>(body_bytes), crc)));
  append(table_);
  for (const auto& f : fragments) {
    append(f.bytes);
    append(padding_of(f.bytes.size()));
  }
  ++spill_events_;
}

void l2raw_writer::end_of_spill(std::chrono::nanoseconds cycle) {
  record(record_type::end_of_spill, spill_,
         bytes_of(end_of_spill_body{spill_events_, 0, whole_nanoseconds(cycle)}));
}

void l2raw_writer::close() {
  flush();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("cannot write", file_, errno);
}

void l2raw_writer::record(record_type type, std::uint32_t spill, std::span<const std::byte> body) {
  append(bytes_of(sealed_header(type, spill, ++sequence_, static_cast<std::uint32_t>(body.size()),
                                crc32c(body))));
  append(body);
}

void l2raw_writer::append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > buffer_bytes) flush();
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  bytes_ += bytes.size();
}

void l2raw_writer::flush() {
  if (const auto error = append_all(descriptor_, buffer_))
    fail("cannot write", file_, error.value());
  buffer_.clear();
}

} // namespace l3
