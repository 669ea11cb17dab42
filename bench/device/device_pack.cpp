// SPDX-License-Identifier: Apache-2.0
#include "bench/device/device_pack.hpp"

#include <cstring>

#include "bench/harness/memory_block.hpp"
#include "gpu/codec/waveforms.hpp"

namespace l3::bench {

namespace {

/// Whether the records in the slots are the expected ones, in order.
bool has_records(std::span<const std::byte> packed, const device_pack_expected& expected) {
  for (std::uint32_t w = 0; w < expected.waveforms(); ++w) {
    const std::byte* const slot = expected.slots.data() + w * waveform_slots::bytes;
    const std::uint32_t bytes = koto::record_bytes(std::to_integer<std::uint32_t>(*slot));
    if (bytes > packed.size() || std::memcmp(packed.data(), slot, bytes) != 0) return false;
    packed = packed.subspan(bytes);
  }
  return true;
}

} // namespace

device_pack_expected::device_pack_expected(const decode_batch& batch)
    : packed(pack_on_host(batch)), encoded(pack_on_host(batch, codec_id::strong)) {
  const buffer memory = decode_on_host(batch, 0);
  region from(memory);
  const decoded_batch decoded =
      decoded_batch::take(from, batch.view().events.size(), batch.view().boards.size());
  samples.assign(decoded.samples.data(), decoded.samples.data() + decoded.samples.size());
  slots.assign(waveforms() * waveform_slots::bytes, static_cast<std::byte>(poison_byte));
  for (std::uint32_t w = 0; w < waveforms(); ++w) {
    record_bytes += koto::pack_record(samples.data() + std::size_t{w} * koto::record_samples,
                                      slots.data() + w * waveform_slots::bytes);
  }
}

device_pack_row pack_on_one_core(const device_pack_expected& expected, std::uint32_t rounds) {
  device_pack_row row{std::string("one CPU core, ") + koto::waveform_codecs().front().name,
                      expected.samples.size() * sizeof(std::uint16_t)};
  row.traffic = row.input_bytes + expected.record_bytes;
  const memory_block out(koto::max_packed_bytes(expected.waveforms()));
  std::size_t used = 0;
  const entrant core{
      row.name, [&] { std::memset(out.bytes().data(), poison_byte, out.bytes().size()); },
      [&] { used = koto::pack(expected.samples, out.bytes()); },
      [&] { return used == expected.record_bytes && has_records(out.bytes(), expected); }};
  row.time = measure({&core, 1}, {rounds, 1, start::in_turn}).front();
  return row;
}

} // namespace l3::bench
