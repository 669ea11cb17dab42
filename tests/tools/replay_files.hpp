// SPDX-License-Identifier: Apache-2.0
// Small files to replay: two crates of two boards, so that an event is 8 kB and takes several small
// chunks.
#pragma once

#include <chrono>
#include <filesystem>
#include <vector>

#include "tests/tools/temporary_folder.hpp"
#include "tools/replay/source.hpp"
#include "transport/file/l2raw.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

inline constexpr std::chrono::nanoseconds small_cycle = std::chrono::milliseconds(20);

inline readout small_readout() {
  return {{{5, 2, board_kind::sampling_125_mhz}, {9, 2, board_kind::sampling_500_mhz}}};
}

inline std::vector<std::byte> small_fragment(std::uint32_t spill, std::uint32_t number) {
  std::vector<std::byte> f(l2::fragment_bytes(2));
  std::byte* p = f.data();
  store_big(p, l2::fragment_header(number));
  p += 4;
  for (std::uint32_t b = 0; b < 2; ++b) {
    for (int w = 0; w < l2::header_words; ++w, p += 2)
      store_big(p, l2::expected_header_word(w, spill, number, l2::first_slot + b, 77));
    for (std::uint32_t s = 0; s < 1024; ++s, p += 2)
      store_big(p, static_cast<std::uint16_t>(l2::sample_tag | ((s * 31 + number) & 0x3fff)));
    for (int w = 0; w < l2::footer_words; ++w, p += 2) store_big(p, l2::footer_tag);
  }
  store_big(p, l2::fragment_trailer);
  return f;
}

/// `events` in each of `spills`, of run 9.
inline void write_small_file(const std::filesystem::path& file, std::uint32_t events,
                             std::uint32_t spills) {
  l2raw_writer writer(file, 9, small_readout());
  for (std::uint32_t s = 1; s <= spills; ++s) {
    writer.begin_of_spill(s, small_cycle / 2);
    for (std::uint32_t n = 1; n <= events; ++n) {
      const auto f = small_fragment(s, n);
      const crate_fragment fragments[] = {{0, f}, {1, f}};
      writer.event(n, std::chrono::microseconds(100 * n), fragments);
    }
    writer.end_of_spill(small_cycle);
  }
  writer.close();
}

} // namespace l3
