// SPDX-License-Identifier: Apache-2.0
#include "tools/pack/byte_stream.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "gpu/codec/waveforms.hpp"

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

} // namespace l3
