// SPDX-License-Identifier: Apache-2.0
// KOTO's two original kernels for packing waveforms on a GPU, as presented: one thread per
// waveform, and one block per waveform with one thread per output byte. `koto-l3-bench device` uses
// them as the baseline. Their input is decoded waveforms; each record goes to its own slot, because
// they cannot determine its place without gaps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/executors/block.hpp"

namespace l3::bench {

struct waveform_slots {
  static constexpr std::size_t bytes = koto::max_record_bytes; ///< per slot

  const std::uint16_t* samples = nullptr;
  std::uint32_t waveforms = 0;
  std::byte* records = nullptr;
};

struct pack_by_threads {
  static constexpr std::uint32_t width = 256;

  struct shared {};

  [[nodiscard]] static std::uint32_t blocks(const waveform_slots& w) {
    return (w.waveforms + width - 1) / width;
  }

  template <block B>
  L3_FN void operator()(const B& b, shared&, const waveform_slots& all) const {
    for_each(b, width, [&](std::uint32_t i) {
      const std::size_t w = std::size_t{b.index()} * width + i;
      if (w < all.waveforms)
        pack(all.samples + w * koto::record_samples, all.records + w * waveform_slots::bytes);
    });
  }

private:
  L3_FN static void pack(const std::uint16_t* samples, std::byte* to) {
    std::uint32_t low = samples[0];
    std::uint32_t high = samples[0];
    for (std::uint32_t i = 1; i < koto::record_samples; ++i) {
      low = samples[i] < low ? samples[i] : low;
      high = samples[i] > high ? samples[i] : high;
    }
    const std::uint32_t bits = koto::bits_needed(high - low);
    koto::store_head(to, bits, low);
    to += koto::record_head_bytes;
    std::uint32_t waiting = 0;
    std::uint32_t filled = 0;
    for (std::uint32_t i = 0; i < koto::record_samples; ++i) {
      waiting |= (samples[i] - low) << filled;
      for (filled += bits; filled >= 8; filled -= 8, waiting >>= 8)
        *to++ = static_cast<std::byte>(waiting);
    }
  }
};

struct pack_by_blocks {
  static constexpr std::uint32_t width = koto::record_samples;

  struct shared {
    std::uint32_t sample[koto::record_samples];
    std::uint32_t low[koto::record_samples];
    std::uint32_t high[koto::record_samples];
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const waveform_slots& all) const {
    const std::size_t w = b.index();
    const std::uint16_t* const samples = all.samples + w * koto::record_samples;
    std::byte* const to = all.records + w * waveform_slots::bytes;
    for_each(b, koto::record_samples,
             [&](std::uint32_t i) { s.sample[i] = s.low[i] = s.high[i] = samples[i]; });
    b.sync();
    for (std::uint32_t half = koto::record_samples / 2; half > 0; half /= 2) {
      for_each(b, half, [&](std::uint32_t i) {
        s.low[i] = s.low[i + half] < s.low[i] ? s.low[i + half] : s.low[i];
        s.high[i] = s.high[i + half] > s.high[i] ? s.high[i + half] : s.high[i];
      });
      b.sync();
    }
    const std::uint32_t low = s.low[0];
    const std::uint32_t bits = koto::bits_needed(s.high[0] - low);
    for_each(b, 1, [&](std::uint32_t) { koto::store_head(to, bits, low); });
    for_each(b, koto::octets * bits, [&](std::uint32_t k) {
      const std::uint32_t first_bit = 8 * k;
      std::uint32_t i = first_bit / bits;
      std::uint32_t byte = (s.sample[i] - low) >> (first_bit - i * bits);
      for (++i; i * bits < first_bit + 8; ++i)
        byte |= (s.sample[i] - low) << (i * bits - first_bit);
      to[koto::record_head_bytes + k] = static_cast<std::byte>(byte);
    });
  }
};

} // namespace l3::bench
