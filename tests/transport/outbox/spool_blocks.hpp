// SPDX-License-Identifier: Apache-2.0
// What the tests of the spool have in common: blocks that can be made again from session and
// sequence alone, and files to damage.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <random>
#include <span>
#include <vector>

#include "tests/transport/store/packed_events.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/outbox/spool.hpp"
#include "transport/store/block.hpp"

namespace l3::test {

/// A spool looks at the lengths of events, and not into them: any bytes behind a length are one.
/// There is room for the heads of so many.
inline bytes spool_block(std::uint64_t session, std::uint64_t sequence,
                         std::size_t payload_bytes = 200, std::uint32_t events = 3) {
  std::mt19937_64 random(session * 1'000'003 + sequence);
  block_header header;
  bytes block(sizeof header + payload_bytes);
  for (std::size_t i = sizeof header; i < block.size(); i += sizeof(std::uint64_t)) {
    const auto word = random();
    std::memcpy(&block[i], &word, std::min(sizeof word, block.size() - i));
  }
  auto rest = static_cast<std::uint32_t>(payload_bytes);
  for (std::uint32_t left = events; left > 0; --left) {
    const std::uint32_t length = left == 1 ? rest : sizeof(packed_event);
    store(&block[block.size() - rest], length);
    rest -= length;
  }
  header.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
  header.events = events;
  header.session = session;
  header.sequence = sequence;
  header.run = 7;
  header.node = static_cast<std::uint32_t>(session);
  header.payload_crc = crc32c(std::span(block).subspan(sizeof header));
  seal_header(header);
  store(block.data(), header);
  return block;
}

inline constexpr std::uint64_t block_bytes = 264; ///< of spool_block()
inline constexpr std::uint64_t head_bytes = sizeof(store_file_header);

/// Small, and on any disk.
inline spool_settings small_spool(const std::filesystem::path& folder,
                                  std::uint64_t segment = 64 << 10) {
  spool_settings settings;
  settings.folder = folder;
  settings.size = mebibytes(8);
  settings.floor = {};
  settings.segment = {segment};
  return settings;
}

inline std::filesystem::path segment_path(const std::filesystem::path& folder,
                                          std::uint64_t number) {
  return store_file_path(folder, number, store_kind::spool);
}

inline std::size_t files_in(const std::filesystem::path& folder) {
  std::error_code none;
  const std::filesystem::directory_iterator all(folder, none);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

inline std::optional<std::uint64_t> first_of(const spool& disk, std::uint64_t session) {
  const auto lane = disk.lane(session);
  return lane ? std::optional(lane->first) : std::nullopt;
}
inline std::optional<std::uint64_t> last_of(const spool& disk, std::uint64_t session) {
  const auto lane = disk.lane(session);
  return lane ? std::optional(lane->last) : std::nullopt;
}

/// What the far end would get: the numbers of the blocks that come whole, and of the empty ones.
struct drained {
  std::vector<std::uint64_t> whole;
  std::vector<std::uint64_t> empty;
  std::uint64_t lost_events = 0;
  bool operator==(const drained&) const = default;
};
inline drained drain(spool& from, std::uint64_t session, std::size_t payload_bytes = 200) {
  drained all;
  bytes block;
  const auto first = first_of(from, session);
  const auto last = last_of(from, session);
  if (!first || !last) return all;
  for (auto sequence = *first; sequence <= *last; ++sequence) {
    const auto result = from.read(session, sequence, block);
    if (result.error) continue;
    block_header header;
    if (check_block(block, header) != block_fault::none || header.session != session ||
        header.sequence != sequence) {
      continue;
    }
    all.lost_events += result.lost_events;
    if (!result.whole && header.payload_bytes == 0 && header.events == 0) {
      all.empty.push_back(sequence);
    } else if (result.whole && block == spool_block(session, sequence, payload_bytes)) {
      all.whole.push_back(sequence);
    }
  }
  return all;
}

inline std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all;
  for (auto i = first; i <= last; ++i) all.push_back(i);
  return all;
}

} // namespace l3::test
