// SPDX-License-Identifier: Apache-2.0
// Recorded waveforms instead of simulated ones: little-endian u16 without a header, read once, and
// used as a ring of pieces of 64 samples. A 500 MHz input uses four consecutive pieces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace l3 {

class recordings {
public:
  /// `samples` per waveform: 64 or 256. Throws std::runtime_error if the file cannot be read, does
  /// not hold whole waveforms, or has a value beyond 14 bits; the text gives its place.
  recordings(const std::filesystem::path& file, std::uint32_t samples);

  [[nodiscard]] std::uint64_t pieces() const { return pieces_; }
  /// Piece i modulo the number of pieces: 64 samples.
  [[nodiscard]] std::span<const std::uint16_t, 64> piece(std::uint64_t i) const {
    return std::span<const std::uint16_t, 64>(samples_.data() + i % pieces_ * 64, 64);
  }

private:
  std::vector<std::uint16_t> samples_;
  std::uint64_t pieces_ = 0;
};

} // namespace l3
