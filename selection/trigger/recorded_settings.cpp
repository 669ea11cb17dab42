// SPDX-License-Identifier: Apache-2.0
#include "selection/trigger/recorded_settings.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "transport/format/block_entries.hpp"

namespace l3 {
namespace {

constexpr std::size_t most_crates = 64;

enum class entry_key : std::uint32_t {
  software = 1,
  crates = 2,
  mode = 3,
  lines = 4,
  detector = 5,
  calibration = 6,
};

constexpr const char* record_word = "record";

void add(std::vector<std::byte>& to, entry_key key, std::string_view text) {
  if (!text.empty()) add_entry(to, static_cast<std::uint32_t>(key), text);
}

std::string text_of(const readout& crates) {
  std::string text;
  for (const crate_readout& c : crates.crates)
    for (const std::uint8_t byte :
         {c.number, c.boards, static_cast<std::uint8_t>(c.kind), std::uint8_t{0}})
      text.push_back(static_cast<char>(byte));
  return text;
}

/// Returns nothing if the text is no readout.
std::optional<readout> readout_in(std::string_view text) {
  constexpr std::size_t row = 4;
  readout all;
  if (text.size() % row != 0 || text.empty() || text.size() / row > most_crates)
    return std::nullopt;
  for (std::size_t at = 0; at < text.size(); at += row) {
    const auto byte = [&](std::size_t n) { return static_cast<std::uint8_t>(text[at + n]); };
    const auto kind = static_cast<board_kind>(byte(2));
    const bool known = kind == board_kind::sampling_125_mhz || kind == board_kind::sampling_500_mhz;
    if (!known || byte(1) == 0 || byte(1) > l2::max_boards) return std::nullopt;
    all.crates.push_back({byte(0), byte(1), kind});
  }
  return all;
}

} // namespace

std::vector<std::byte> encode(const recorded_settings& s) {
  std::vector<std::byte> bytes;
  add(bytes, entry_key::software, s.software);
  add(bytes, entry_key::crates, text_of(s.crates));
  if (s.mode == selection_mode::record) add(bytes, entry_key::mode, record_word);
  add(bytes, entry_key::lines, s.lines);
  add(bytes, entry_key::detector, s.detector);
  add(bytes, entry_key::calibration, s.calibration);
  return bytes;
}

std::optional<recorded_settings> decode_settings(std::span<const std::byte> bytes) {
  recorded_settings s;
  bool has_crates = false;
  entry_walk entries(bytes);
  while (const auto entry = entries.next()) {
    std::string text(entry->content);
    switch (static_cast<entry_key>(entry->key)) {
    case entry_key::software: s.software = std::move(text); break;
    case entry_key::crates: {
      const auto crates = readout_in(text);
      if (!crates) return std::nullopt;
      s.crates = *crates;
      has_crates = true;
      break;
    }
    case entry_key::mode:
      if (text != record_word) return std::nullopt; // a later version's mode decides differently
      s.mode = selection_mode::record;
      break;
    case entry_key::lines: s.lines = std::move(text); break;
    case entry_key::detector: s.detector = std::move(text); break;
    case entry_key::calibration: s.calibration = std::move(text); break;
    default: break;
    }
  }
  if (entries.broken() || !has_crates || s.lines.empty() != s.detector.empty()) return std::nullopt;
  return s;
}

} // namespace l3
