// SPDX-License-Identifier: Apache-2.0
// Reads all of a store or a file by the C library for readers: whatever the bytes are, it opens
// them or says why not; what is not there is marked and cleared, and a few channels are what they
// are among all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "reading/include/koto_l3/read.h"
#include "tests/fuzz/targets/fuzz.hpp"

namespace l3::test {

/// Crate, slot and channel of some inputs of KOTO's readout, whole boards among them.
inline std::vector<std::uint8_t> some_inputs(std::uint32_t length) {
  std::vector<std::uint8_t> all;
  for (std::uint8_t crate = length == 64 ? 0 : 15; crate < (length == 64 ? 2 : 16); ++crate)
    for (std::uint8_t slot = 3; slot < 19; ++slot)
      for (std::uint8_t channel = 0; channel < (length == 64 ? 16 : 4); ++channel)
        all.insert(all.end(), {crate, slot, channel});
  return all;
}

inline void read_columns(const l3_reader* reader, l3_read_table table) {
  const l3_read_field* fields = nullptr;
  const std::size_t n = l3_read_fields(table, &fields);
  const std::int64_t rows = l3_read_size(reader, table);
  require(rows >= 0, "a table has a length");
  std::vector<std::vector<std::uint64_t>> columns(n, std::vector<std::uint64_t>(rows + 1));
  std::vector<void*> to;
  for (std::size_t f = 0; f < n; ++f)
    to.push_back(fields[f].type == L3_READ_TEXT ? nullptr : columns[f].data());
  const l3_read_range all{0, static_cast<std::uint64_t>(rows), nullptr};
  require(l3_read_rows(reader, table, &all, to.data(), 1) >= 0, "rows can be read");
  for (std::uint64_t row = 0; row < all.count; ++row)
    for (std::size_t f = 0; f < n; ++f)
      if (fields[f].type == L3_READ_TEXT)
        require(l3_read_text(reader, table, row, fields[f].name, nullptr) != nullptr, "a text");
}

inline void read_waveforms(const l3_reader* reader, std::uint32_t length, std::uint64_t events) {
  const auto inputs = some_inputs(length);
  const std::size_t n = inputs.size() / 3;
  const l3_read_range all{0, events, nullptr};
  std::vector<std::uint16_t> samples(events * n * length, 1);
  std::vector<std::uint8_t> state(events * n, 99);
  require(
      l3_read_samples(reader, &all, inputs.data(), n, length, samples.data(), state.data(), 1) >= 0,
      "samples can be read, or are marked");
  for (std::size_t w = 0; w < state.size(); ++w) {
    const auto* const first = samples.data() + w * length;
    require(state[w] <= L3_READ_NO_CHANNEL, "a waveform has a state");
    require(std::all_of(first, first + length,
                        [&](std::uint16_t s) { return s <= (state[w] == 0 ? 0x3fff : 0); }),
            "a sample has 14 bits, and 0 where there is none");
  }
  constexpr std::size_t step = 37;
  std::vector<std::uint16_t> one(events * length);
  std::vector<std::uint8_t> of_one(events, 99);
  for (std::size_t c = 0; c < n; c += step) {
    require(
        l3_read_samples(reader, &all, &inputs[c * 3], 1, length, one.data(), of_one.data(), 1) >= 0,
        "a channel can be read, or is marked");
    for (std::size_t e = 0; e < events; ++e)
      require(state[e * n + c] != 0 || of_one[e] != 0 ||
                  std::memcmp(&one[e * length], &samples[(e * n + c) * length], 2 * length) == 0,
              "a channel alone is what it is among all");
  }
  std::vector<std::int32_t> energy(events * n * (length / 64));
  std::array<void*, 8> columns{nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, energy.data()};
  require(l3_read_pulses(reader, &all, inputs.data(), n, length, columns.data(), state.data(), 1) >=
              0,
          "pulses can be read, or are marked");
}

inline void read_by_library(const std::string& path, unsigned flags = L3_READ_SKIP_DAMAGED) {
  l3_reader* const reader = l3_read_open(path.c_str(), flags);
  require(reader != nullptr || *l3_read_error() != '\0',
          "what is not taken is refused with a text");
  if (reader == nullptr) return;
  constexpr std::uint64_t most_events = 8;
  const auto events = static_cast<std::uint64_t>(l3_read_size(reader, L3_READ_EVENTS));
  if ((flags & L3_READ_SKIP_DAMAGED) != 0 && events <= most_events) {
    for (const int table : {0, 4, 5, 9}) // the others only if settings are there
      read_columns(reader, static_cast<l3_read_table>(table));
    std::vector<std::uint64_t> offsets(events + 1);
    const l3_read_range all{0, events, nullptr};
    for (const int table : {1, 2, 3})
      require(l3_read_lists(reader, static_cast<l3_read_table>(table), &all, offsets.data(),
                            nullptr, 0, 1) >= 0,
              "lists can be read");
    read_waveforms(reader, 64, events);
    read_waveforms(reader, 256, events);
    require(l3_read_refresh(reader) == static_cast<std::int64_t>(events), "nothing has come");
  }
  l3_read_close(reader);
}

} // namespace l3::test
