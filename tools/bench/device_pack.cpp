// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/device_pack.hpp"

namespace l3::bench {

device_pack_expected::device_pack_expected(const decode_batch& batch)
    : packed(pack_on_host(batch)) {
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

} // namespace l3::bench
