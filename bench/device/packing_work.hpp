// SPDX-License-Identifier: Apache-2.0
// The inputs of `koto-l3-bench device` and their expected outputs: bare waveforms for KOTO's
// original kernels and for one core, and as many board packets for our kernels. Every output, also
// a copy's, is poisoned before a run and compared after it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/decode/decode_batch.hpp"
#include "bench/device/first_kernels.hpp"
#include "bench/harness/measure.hpp"
#include "gpu/settings.hpp"

namespace l3::bench {

/// Waveforms that an input repeats, so that only input and output of a kernel have the whole size.
class waveform_tile {
public:
  explicit waveform_tile(std::uint32_t waveforms);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// The first n waveforms.
  [[nodiscard]] std::span<const std::uint16_t> samples(std::uint32_t n) const {
    return std::span(samples_).first(std::size_t{n} * koto::record_samples);
  }
  /// The slots of the first n waveforms, with poison outside of the records.
  [[nodiscard]] std::span<const std::byte> slots(std::uint32_t n) const {
    return std::span(slots_).first(n * waveform_slots::bytes);
  }
  /// Whether `records` begins with those of the first n waveforms, without gaps.
  [[nodiscard]] bool has_records(std::uint32_t n, std::span<const std::byte> records) const;
  /// Calls f(first, n) for tile after tile of `waveforms`.
  template <class F>
  void for_each(std::uint32_t waveforms, F&& f) const {
    for (std::uint32_t w = 0; w < waveforms; w += size_) f(w, std::min(size_, waveforms - w));
  }
  /// The length of the records of this many waveforms.
  [[nodiscard]] std::uint64_t record_bytes(std::uint32_t waveforms) const;

private:
  std::uint32_t size_;
  std::vector<std::uint16_t> samples_;
  std::vector<std::byte> slots_;
};

/// Board packets, and the packed events in both codecs.
struct packet_work {
  explicit packet_work(std::uint32_t events);

  decode_batch batch;
  std::vector<std::byte> packed;
  std::vector<std::byte> encoded;
};

struct packing_row {
  entrant what;
  std::uint64_t input_bytes = 0; ///< packed or copied per run
  std::uint64_t traffic = 0;     ///< read once and written once
};

/// The measurements of one size on one executor.
struct packing_rows {
  std::string where;
  bool one_core = false;         ///< the thread's own clock measures it
  std::vector<packing_row> rows; ///< the first is a copy, or the plain loop
  std::shared_ptr<void> stand{}; ///< owns what they use
  bool is_baseline = false;      ///< rows of one core, the first of which is the plain loop
};

/// `waveforms` on one core: a plain loop, and the best instructions. The tile outlives the result.
[[nodiscard]] packing_rows core_packing(const waveform_tile& tile, std::uint32_t waveforms);

// On an executor. Tile and packets, which may be null, outlive the result. These functions throw
// std::runtime_error if there is too little memory.
[[nodiscard]] packing_rows cpu_packing(const compute_settings& where, const waveform_tile& tile,
                                       std::uint32_t waveforms, const packet_work* packets);
[[nodiscard]] packing_rows cuda_packing(const waveform_tile& tile, std::uint32_t waveforms,
                                        const packet_work* packets);

} // namespace l3::bench
