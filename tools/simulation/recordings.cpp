// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/recordings.hpp"

#include <fstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "transport/format/l2.hpp"

namespace l3 {

recordings::recordings(const std::filesystem::path& file, std::uint32_t samples) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (error) throw std::runtime_error("cannot read " + file.string() + ": " + error.message());
  const std::uint64_t waveform_bytes = samples * sizeof(std::uint16_t);
  if (bytes == 0 || bytes % waveform_bytes != 0)
    throw std::runtime_error(
        fmt::format("{}: {} bytes are not a whole number of waveforms of {} samples", file.string(),
                    bytes, samples));
  samples_.resize(bytes / sizeof(std::uint16_t));
  std::ifstream in(file, std::ios::binary);
  // Reads 16-bit words as the file has them: hosts are little-endian.
  if (!in.read(reinterpret_cast<char*>(samples_.data()), static_cast<std::streamsize>(bytes)))
    throw std::runtime_error("cannot read " + file.string());
  for (std::size_t i = 0; i < samples_.size(); ++i)
    if (samples_[i] > l2::payload_mask)
      throw std::runtime_error(
          fmt::format("{}: waveform {}, sample {} is {}: a board packet has 14 bits, up to {}",
                      file.string(), i / samples, i % samples, samples_[i], l2::payload_mask));
  pieces_ = samples_.size() / l2::waveform_samples;
}

} // namespace l3
