// SPDX-License-Identifier: Apache-2.0
// KOTO's original kernels for packing waveforms on a GPU, in every variant that was presented: one
// thread per waveform; or one block per waveform, which finds minimum and maximum by a tree or by
// atomics, and writes with one thread per output byte or with one thread per sample and atomics.
// `koto-l3-bench device` uses them as the baseline. Their input is decoded waveforms; each record
// goes to its own slot, because they cannot place records without gaps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/executors/atomics.hpp"
#include "gpu/executors/block.hpp"

namespace l3::bench {

struct waveform_slots {
  static constexpr std::size_t lead = 1; ///< unused, so that differences begin at a word
  static constexpr std::size_t bytes = lead + koto::max_record_bytes; ///< per slot
  static_assert(bytes % sizeof(std::uint32_t) == 0);

  const std::uint16_t* samples = nullptr;
  std::uint32_t waveforms = 0;
  std::byte* slots = nullptr;

  [[nodiscard]] L3_FN const std::uint16_t* waveform(std::size_t w) const {
    return samples + w * koto::record_samples;
  }
  [[nodiscard]] L3_FN std::byte* record(std::size_t w) const { return slots + w * bytes + lead; }
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
      if (w < all.waveforms) pack(all.waveform(w), all.record(w));
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

enum class extremes_by : std::uint8_t { tree, atomics };
enum class a_thread_for : std::uint8_t { each_byte, each_sample };

template <extremes_by reduction, a_thread_for writing>
struct pack_by_blocks {
  static constexpr std::uint32_t width = koto::record_samples;

  struct shared {
    std::uint32_t sample[koto::record_samples];
    std::uint32_t low[koto::record_samples];
    std::uint32_t below[koto::record_samples]; ///< 0xffff − a sample; the least is of the maximum
  };

  [[nodiscard]] static std::uint32_t blocks(const waveform_slots& w) { return w.waveforms; }

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const waveform_slots& all) const {
    const std::uint16_t* const samples = all.waveform(b.index());
    std::byte* const to = all.record(b.index());
    if constexpr (reduction == extremes_by::tree) {
      find_by_tree(b, s, samples);
    } else {
      find_by_atomics(b, s, samples);
    }
    const std::uint32_t low = s.low[0];
    const std::uint32_t bits = koto::bits_needed(largest - s.below[0] - low);
    for_each(b, 1, [&](std::uint32_t) { koto::store_head(to, bits, low); });
    std::byte* const differences = to + koto::record_head_bytes;
    if constexpr (writing == a_thread_for::each_byte) {
      write_bytes(b, s, low, bits, differences);
    } else {
      write_samples(b, s, low, bits, differences);
    }
  }

private:
  static constexpr std::uint32_t largest = 0xffff;

  template <block B>
  L3_FN static void find_by_tree(const B& b, shared& s, const std::uint16_t* samples) {
    for_each(b, koto::record_samples, [&](std::uint32_t i) {
      s.sample[i] = s.low[i] = samples[i];
      s.below[i] = largest - samples[i];
    });
    b.sync();
    for (std::uint32_t half = koto::record_samples / 2; half > 0; half /= 2) {
      for_each(b, half, [&](std::uint32_t i) {
        s.low[i] = s.low[i + half] < s.low[i] ? s.low[i + half] : s.low[i];
        s.below[i] = s.below[i + half] < s.below[i] ? s.below[i + half] : s.below[i];
      });
      b.sync();
    }
  }

  template <block B>
  L3_FN static void find_by_atomics(const B& b, shared& s, const std::uint16_t* samples) {
    for_each(b, 1, [&](std::uint32_t) { s.low[0] = s.below[0] = largest; });
    b.sync();
    for_each(b, koto::record_samples, [&](std::uint32_t i) {
      s.sample[i] = samples[i];
      fetch_min_within(b, &s.low[0], samples[i]);
      fetch_min_within(b, &s.below[0], largest - samples[i]);
    });
    b.sync();
  }

  template <block B>
  L3_FN static void write_bytes(const B& b, const shared& s, std::uint32_t low, std::uint32_t bits,
                                std::byte* to) {
    for_each(b, koto::octets * bits, [&](std::uint32_t k) {
      const std::uint32_t first_bit = 8 * k;
      std::uint32_t i = first_bit / bits;
      std::uint32_t byte = (s.sample[i] - low) >> (first_bit - i * bits);
      for (++i; i * bits < first_bit + 8; ++i)
        byte |= (s.sample[i] - low) << (i * bits - first_bit);
      to[k] = static_cast<std::byte>(byte);
    });
  }

  /// A sample's bits may cross a word, and samples share words.
  template <block B>
  L3_FN static void write_samples(const B& b, const shared& s, std::uint32_t low,
                                  std::uint32_t bits, std::byte* to) {
    constexpr std::uint32_t word_bits = 32;
    auto* const words = reinterpret_cast<std::uint32_t*>(to);
    for_each(b, koto::record_samples * bits / word_bits, [&](std::uint32_t k) { words[k] = 0; });
    b.sync();
    for_each(b, koto::record_samples, [&](std::uint32_t i) {
      const std::uint32_t word = i * bits / word_bits;
      const std::uint64_t shifted = std::uint64_t{s.sample[i] - low} << (i * bits % word_bits);
      const auto here = static_cast<std::uint32_t>(shifted);
      const auto beyond = static_cast<std::uint32_t>(shifted >> word_bits);
      if (here != 0) set_bits_within(b, &words[word], here);
      if (beyond != 0) set_bits_within(b, &words[word + 1], beyond);
    });
  }
};

} // namespace l3::bench
