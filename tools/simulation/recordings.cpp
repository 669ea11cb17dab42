// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/recordings.hpp"

#include <span>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "transport/format/l2.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

/// They are kept in memory: 2^31 samples.
constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30;

} // namespace

recordings::recordings(const std::filesystem::path& file, std::uint32_t samples) {
  const input_file in = open_input(file);
  if (!in.refusal.empty()) throw std::runtime_error(file.string() + " " + in.refusal);
  const std::uint64_t bytes = in.bytes;
  if (bytes > most_bytes)
    throw std::runtime_error(
        fmt::format("{} has {} bytes; at most {} are read", file.string(), bytes, most_bytes));
  const std::uint64_t waveform_bytes = samples * sizeof(std::uint16_t);
  if (bytes == 0 || bytes % waveform_bytes != 0)
    throw std::runtime_error(
        fmt::format("{}: {} bytes are not a whole number of waveforms of {} samples", file.string(),
                    bytes, samples));
  samples_.resize(bytes / sizeof(std::uint16_t));
  // Reads 16-bit words directly: hosts are little-endian.
  if (const auto error = read_all(in.file.get(), 0, std::as_writable_bytes(std::span(samples_))))
    throw std::runtime_error(file.string() + " " + cannot_be_read(error));
  for (std::size_t i = 0; i < samples_.size(); ++i)
    if (samples_[i] > l2::payload_mask)
      throw std::runtime_error(
          fmt::format("{}: waveform {}, sample {} is {}: a board packet has 14 bits, up to {}",
                      file.string(), i / samples, i % samples, samples_[i], l2::payload_mask));
  pieces_ = samples_.size() / l2::waveform_samples;
}

} // namespace l3
