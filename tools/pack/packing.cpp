// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "gpu/codec/strong_groups.hpp"
#include "gpu/codec/waveforms.hpp"
#include "tools/pack/byte_stream.hpp"
#include "transport/format/crc32c.hpp"

namespace l3 {

namespace {

constexpr std::size_t run_bytes = koto::record_samples * sizeof(std::uint16_t);
constexpr std::size_t chunk_records = 1024; // fits the first-level caches of a core

[[noreturn]] void refuse_record(const byte_input& in, koto::unpack_status why,
                                std::span<const std::byte> record) {
  const auto bits = load<std::uint8_t>(record.data());
  if (why == koto::unpack_status::too_many_bits)
    refuse(in, in.offset(), "a record of N = {} bits; there are at most {}", bits, koto::max_bits);
  if (why == koto::unpack_status::sample_too_large)
    refuse(in, in.offset(), "a record with a sample beyond 65535");
  refuse(in, in.offset(), "the record is truncated: it has {} of {} bytes", record.size(),
         koto::record_bytes(bits));
}

} // namespace

void pack_stream(byte_input& in, byte_output& out, std::uint32_t samples,
                 const packing_progress& tell) {
  const std::uint64_t waveform_bytes = samples * sizeof(std::uint16_t);
  // A known wrong size is reported before the work.
  if (const auto size = in.size(); size && *size % waveform_bytes != 0)
    refuse_rest(in, *size - *size % waveform_bytes, *size % waveform_bytes, samples);

  std::vector<std::uint16_t> chunk(chunk_records * koto::record_samples);
  for (auto bytes = in.peek(run_bytes); bytes.size() >= run_bytes; bytes = in.peek(run_bytes)) {
    const auto runs = std::min(bytes.size() / run_bytes, chunk_records);
    std::memcpy(chunk.data(), bytes.data(), runs * run_bytes);
    const auto room = koto::max_packed_bytes(runs);
    out.added(koto::pack(std::span(chunk).first(runs * koto::record_samples),
                         std::span(out.room(room), room)));
    in.take(runs * run_bytes);
    tell(in.offset());
  }
  const auto end = in.offset() + in.peek(run_bytes).size();
  if (const auto rest = end % waveform_bytes; rest != 0) refuse_rest(in, end - rest, rest, samples);
}

void unpack_stream(byte_input& in, byte_output& out, std::uint32_t samples,
                   const packing_progress& tell) {
  std::vector<std::uint16_t> chunk(chunk_records * koto::record_samples);
  std::uint64_t records = 0;
  std::uint64_t waveform_begin = 0;
  const auto records_per_waveform = samples / koto::record_samples;
  for (auto bytes = in.peek(koto::max_record_bytes); !bytes.empty();
       bytes = in.peek(koto::max_record_bytes)) {
    const auto r = koto::unpack(bytes, chunk);
    std::memcpy(out.room(r.records * run_bytes), chunk.data(), r.records * run_bytes);
    out.added(r.records * run_bytes);
    for (std::size_t at = 0; at < r.bytes; ++records) {
      if (records % records_per_waveform == 0) waveform_begin = in.offset() + at;
      at += koto::record_bytes(load<std::uint8_t>(bytes.data() + at));
    }
    in.take(r.bytes);
    // The rest of a truncated record comes with the next piece, unless the input has ended.
    const bool may_go_on = r.status == koto::unpack_status::cut_off && r.records > 0;
    if (r.status != koto::unpack_status::done && !may_go_on)
      refuse_record(in, r.status, bytes.subspan(r.bytes));
    tell(in.offset());
  }
  if (const auto rest = records % records_per_waveform; rest != 0)
    refuse(in, waveform_begin, "the last waveform has {} of {} records of its {} samples", rest,
           records_per_waveform, samples);
}

namespace {

using strong::group_samples;

constexpr std::size_t record_bytes = strong::record_samples * sizeof(std::uint16_t);

template <class Header>
std::uint32_t crc_of(const Header& h) {
  return crc32c(std::as_bytes(std::span(&h, 1)).first(sizeof h - sizeof h.crc));
}

template <class Header>
void put(byte_output& out, Header h) {
  h.crc = crc_of(h);
  std::memcpy(out.room(sizeof h), &h, sizeof h);
  out.added(sizeof h);
}

/// Reads a header with a valid checksum; `what` names it in messages.
template <class Header>
Header take(byte_input& in, const char* what) {
  const auto bytes = in.peek(sizeof(Header));
  if (bytes.size() < sizeof(Header))
    refuse(in, in.offset(), "{} is truncated: it has {} of {} bytes", what, bytes.size(),
           sizeof(Header));
  const auto h = load<Header>(bytes.data());
  if (h.crc != crc_of(h)) refuse(in, in.offset(), "{} is damaged: wrong checksum", what);
  in.take(sizeof h);
  return h;
}

/// A file of another kind is reported as such before its checksum is checked.
strong_file_header take_head(byte_input& in) {
  const auto start = in.peek(sizeof(strong_file_header));
  const strong_file_header ours;
  if (start.size() < sizeof ours.magic ||
      std::memcmp(start.data(), ours.magic.data(), sizeof ours.magic) != 0)
    refuse(in, in.offset(), "this is not a file of the strong codec");
  const auto h = take<strong_file_header>(in, "the head of the file");
  if (h.version != ours.version || h.codec != ours.codec)
    refuse(in, 0, "version {} or codec {} is unknown", h.version, static_cast<int>(h.codec));
  if (h.samples == 0 || h.samples % strong::record_samples != 0)
    refuse(in, 0, "a waveform has {} samples; they must be a multiple of {}", h.samples,
           strong::record_samples);
  return h;
}

} // namespace

void pack_strong(byte_input& in, byte_output& out, std::uint32_t samples,
                 const packing_progress& tell) {
  const std::uint64_t waveform_bytes = samples * sizeof(std::uint16_t);
  if (const auto size = in.size(); size && *size % waveform_bytes != 0)
    refuse_rest(in, *size - *size % waveform_bytes, *size % waveform_bytes, samples);

  strong_file_header head;
  head.samples = samples;
  put(out, head);
  std::vector<std::uint16_t> chunk(max_section_records * strong::record_samples);
  std::vector<std::byte> groups(strong::max_encoded_bytes(strong::groups_of(max_section_records)));
  std::uint32_t total = 0;
  const std::size_t wanted = max_section_records * record_bytes;
  for (auto bytes = in.peek(wanted); bytes.size() >= record_bytes; bytes = in.peek(wanted)) {
    const auto records = std::min<std::size_t>(bytes.size() / record_bytes, max_section_records);
    std::memcpy(chunk.data(), bytes.data(), records * record_bytes);
    const auto whole = std::span(chunk).first(strong::groups_of(records) * group_samples);
    strong::fill_up(whole, records * strong::record_samples);
    const std::size_t used = strong::encode(whole, strong::shape_of(samples), groups);
    strong_section_header section;
    section.records = static_cast<std::uint32_t>(records);
    section.bytes = static_cast<std::uint32_t>(used);
    section.groups_crc = crc32c(std::span(groups).first(used));
    put(out, section);
    std::memcpy(out.room(used), groups.data(), used);
    out.added(used);
    total += section.records;
    in.take(records * record_bytes);
    tell(in.offset());
  }
  const auto end = in.offset() + in.peek(record_bytes).size();
  if (const auto rest = end % waveform_bytes; rest != 0) refuse_rest(in, end - rest, rest, samples);
  strong_section_header last;
  last.groups_crc = total;
  put(out, last);
}

void unpack_strong(byte_input& in, byte_output& out, std::optional<std::uint32_t> samples,
                   const packing_progress& tell) {
  const auto head = take_head(in);
  if (samples.value_or(head.samples) != head.samples)
    refuse(in, 0, "its waveforms have {} samples, not {} (--samples)", head.samples, *samples);
  const strong::shape of = strong::shape_of(head.samples);
  std::vector<std::uint16_t> chunk(max_section_records * strong::record_samples);
  std::uint64_t total = 0;
  for (;;) {
    const std::uint64_t begin = in.offset();
    const auto section = take<strong_section_header>(in, "the head of a section");
    if (section.records == 0) {
      if (section.bytes != 0 || section.groups_crc != static_cast<std::uint32_t>(total))
        refuse(in, begin, "the end of the file says {} records; there are {}", section.groups_crc,
               total);
      break;
    }
    const std::size_t groups = strong::groups_of(section.records);
    if (section.records > max_section_records || section.bytes > strong::max_encoded_bytes(groups))
      refuse(in, begin, "a section of {} records and {} bytes", section.records, section.bytes);
    const auto bytes = in.peek(section.bytes);
    if (bytes.size() < section.bytes)
      refuse(in, begin, "the section is truncated: it has {} of {} bytes", bytes.size(),
             section.bytes);
    const auto coded = bytes.first(section.bytes);
    if (crc32c(coded) != section.groups_crc)
      refuse(in, begin, "the section is damaged: wrong checksum");
    const auto room = std::span(chunk).first(groups * group_samples);
    const auto r = strong::decode(coded, of, room);
    if (r.damaged || r.groups != groups || r.bytes != section.bytes)
      refuse(in, in.offset() + r.bytes, "not a group of the strong codec");
    std::memcpy(out.room(section.records * record_bytes), chunk.data(),
                section.records * record_bytes);
    out.added(section.records * record_bytes);
    in.take(section.bytes);
    total += section.records;
    tell(in.offset());
  }
  if (const auto more = in.peek(1); !more.empty())
    refuse(in, in.offset(), "there are bytes after the end");
  if (const auto rest = total % (head.samples / strong::record_samples); rest != 0)
    refuse(in, in.offset(), "the last waveform has {} of {} records", rest,
           head.samples / strong::record_samples);
}

} // namespace l3
