// SPDX-License-Identifier: Apache-2.0
// Entries after the events of a block (docs/formats.md, section 6): a key, a length, and the data.
// Entries with low keys are the settings of the block's session, and a receiver copies them into
// each file. Entries with keys from 16 on are written once in the stream, after the settings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "transport/format/endian.hpp"

namespace l3 {

struct entry_head {
  std::uint32_t key = 0; ///< 0: the data are zeros
  std::uint32_t bytes = 0;
};
inline constexpr std::size_t entry_alignment = 8;
static_assert(sizeof(entry_head) == entry_alignment);

/// Entries with these keys are written once.
inline constexpr std::uint32_t first_key_of_once = 16;
inline constexpr std::uint32_t last_key_of_once = 255;
/// The histograms of a spill, as JSON (docs/formats.md, section 16).
inline constexpr std::uint32_t histograms_key = 16;

[[nodiscard]] inline std::size_t bytes_of_entry(std::size_t content) {
  return round_up(sizeof(entry_head) + content, entry_alignment);
}

inline void add_entry(std::vector<std::byte>& to, std::uint32_t key, std::string_view content) {
  const std::size_t at = to.size();
  to.resize(at + bytes_of_entry(content.size()));
  store(to.data() + at, entry_head{key, static_cast<std::uint32_t>(content.size())});
  std::copy_n(reinterpret_cast<const std::byte*>(content.data()), content.size(),
              to.data() + at + sizeof(entry_head));
}

struct block_entry {
  std::uint32_t key = 0;
  std::string_view content;
};

class entry_walk {
public:
  explicit entry_walk(std::span<const std::byte> entries) : all_(entries) {}
  /// Returns nothing at the end, or for an impossible length.
  [[nodiscard]] std::optional<block_entry> next() {
    const auto rest = all_.subspan(at_);
    if (rest.size() < sizeof(entry_head)) return std::nullopt;
    const auto head = load<entry_head>(rest.data());
    if (head.key == 0) return std::nullopt;
    broken_ = bytes_of_entry(head.bytes) > rest.size();
    if (broken_) return std::nullopt;
    at_ += bytes_of_entry(head.bytes);
    return block_entry{
        head.key,
        {reinterpret_cast<const char*>(rest.data()) + sizeof head, std::size_t{head.bytes}}};
  }
  /// The position of the next entry.
  [[nodiscard]] std::size_t position() const { return at_; }
  /// Whether an entry is longer than the remaining bytes.
  [[nodiscard]] bool broken() const { return broken_; }

private:
  std::span<const std::byte> all_;
  std::size_t at_ = 0;
  bool broken_ = false;
};

/// Length of the settings before the first entry with a key of 16 or more.
[[nodiscard]] inline std::size_t settings_length(std::span<const std::byte> entries) {
  entry_walk walk(entries);
  for (std::size_t at = 0;; at = walk.position()) {
    const auto entry = walk.next();
    if (!entry) return entries.size();
    if (entry->key >= first_key_of_once && entry->key <= last_key_of_once) return at;
  }
}

} // namespace l3
