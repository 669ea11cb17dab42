// SPDX-License-Identifier: Apache-2.0
// What the tests of both codecs of waveforms need: samples, memory whose end is watched,
// recordings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace l3::test {

using samples_type = std::vector<std::uint16_t>;

inline constexpr std::byte guard{0x5a};
inline constexpr std::size_t guard_size = 64;

/// Memory of exactly this size, so that AddressSanitizer sees the first byte beyond it.
template <class T>
std::unique_ptr<T[]> exactly(const T* from, std::size_t n) {
  auto p = std::make_unique<T[]>(n);
  std::copy_n(from, n, p.get());
  return p;
}

struct recording {
  std::string name;
  samples_type samples; ///< whole records of 64
};

/// The .u16 files of the folder that KOTO_L3_WAVEFORMS names; none if it names none.
inline std::vector<recording> recordings() {
  std::vector<recording> all;
  const char* const folder = std::getenv("KOTO_L3_WAVEFORMS"); // NOLINT: before any thread
  if (folder == nullptr) return all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".u16") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    recording r{entry.path().stem().string(), samples_type(content.size() / 128 * 64)};
    std::memcpy(r.samples.data(), content.data(), r.samples.size() * sizeof r.samples[0]);
    all.push_back(std::move(r));
  }
  return all;
}

} // namespace l3::test
