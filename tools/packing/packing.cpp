// SPDX-License-Identifier: Apache-2.0
#include "tools/packing/packing.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "gpu/codec/koto.hpp"

namespace l3 {
namespace {

constexpr std::size_t run_bytes = koto::record_samples * sizeof(std::uint16_t);

[[noreturn]] void refuse(const byte_input& in, std::uint64_t offset, const std::string& what) {
  throw std::runtime_error(in.name() + ": offset " + std::to_string(offset) + ": " + what);
}

[[noreturn]] void refuse_rest(const byte_input& in, std::uint64_t offset, std::uint64_t rest,
                              std::uint32_t samples) {
  refuse(in, offset,
         std::to_string(rest) + " bytes are left, not a whole waveform of " +
             std::to_string(samples) + " samples");
}

} // namespace

void pack_stream(byte_input& in, byte_output& out, std::uint32_t samples,
                 const packing_progress& tell) {
  const std::uint64_t waveform_bytes = samples * sizeof(std::uint16_t);
  // Told before hours of work, where it can be.
  if (const auto size = in.size(); size && *size % waveform_bytes != 0)
    refuse_rest(in, *size - *size % waveform_bytes, *size % waveform_bytes, samples);

  std::array<std::uint16_t, koto::record_samples> run;
  for (auto bytes = in.peek(run_bytes); bytes.size() >= run_bytes; bytes = in.peek(run_bytes)) {
    const auto runs = bytes.size() / run_bytes;
    for (std::size_t i = 0; i < runs; ++i) {
      std::memcpy(run.data(), bytes.data() + i * run_bytes, run_bytes);
      out.added(koto::pack_record(run.data(), out.room(koto::max_record_bytes)));
    }
    in.take(runs * run_bytes);
    tell(in.offset());
  }
  const auto end = in.offset() + in.peek(run_bytes).size();
  if (const auto rest = end % waveform_bytes; rest != 0) refuse_rest(in, end - rest, rest, samples);
}

void unpack_stream(byte_input& in, byte_output& out, std::uint32_t samples,
                   const packing_progress& tell) {
  std::array<std::uint16_t, koto::record_samples> run;
  std::uint64_t records = 0;
  std::uint64_t waveform_begin = 0;
  const auto records_per_waveform = samples / koto::record_samples;
  constexpr std::uint64_t records_between_progress = 1 << 16;
  for (auto bytes = in.peek(koto::max_record_bytes); !bytes.empty();
       bytes = in.peek(koto::max_record_bytes)) {
    if (records % records_per_waveform == 0) waveform_begin = in.offset();
    const auto used = koto::unpack_record(bytes.data(), bytes.size(), run.data());
    if (used == 0) {
      const auto bits = std::to_integer<std::uint32_t>(bytes[0]);
      if (bits > koto::max_bits)
        refuse(in, in.offset(),
               "a record of N = " + std::to_string(bits) + " bits; there are at most " +
                   std::to_string(koto::max_bits));
      refuse(in, in.offset(),
             "the record is cut off: it has " + std::to_string(bytes.size()) + " of " +
                 std::to_string(koto::record_bytes(bits)) + " bytes");
    }
    const auto lowest = load<std::uint16_t>(bytes.data() + 1);
    if (*std::min_element(run.begin(), run.end()) < lowest)
      refuse(in, in.offset(), "a record with a sample beyond 65535");
    std::memcpy(out.room(run_bytes), run.data(), run_bytes);
    out.added(run_bytes);
    in.take(used);
    if (++records % records_between_progress == 0) tell(in.offset());
  }
  if (const auto rest = records % records_per_waveform; rest != 0)
    refuse(in, waveform_begin,
           "the last waveform has " + std::to_string(rest) + " of " +
               std::to_string(records_per_waveform) + " records of its " + std::to_string(samples) +
               " samples");
}

} // namespace l3
