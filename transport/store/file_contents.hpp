// SPDX-License-Identifier: Apache-2.0
// What is in one file of a store: counts, a checksum of all its bytes, and the sidecar that says so
// when the file is complete (docs/formats.md, section 9). It is kept while the file grows, so that
// nothing has to be read again. Events are believed no further than their lengths go: what a sender
// wrote into one can make a figure wrong, and do no harm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "transport/format/block.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/block_tally.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

class file_contents {
public:
  /// Of each, a sidecar names no more.
  static constexpr std::size_t most_sessions = 1024;
  static constexpr std::size_t most_settings = 64;
  static constexpr std::size_t most_spills = 512;

  /// A file that has its head and no block.
  explicit file_contents(std::span<const std::byte> head);
  /// What is in a file, which has nothing but its head and whole blocks. Nothing: it has something
  /// else, or cannot be read.
  [[nodiscard]] static std::optional<file_contents> read(store_file& file);

  /// The block's bytes are behind all that was added before.
  void add(std::span<const std::byte> block, const block_header& header);

  [[nodiscard]] bool is_empty() const { return blocks_.blocks == 0; }
  [[nodiscard]] file_owner owner() const { return owner_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint32_t crc() const { return crc_; }
  /// JSON, one object; `software` is what wrote the file.
  [[nodiscard]] std::string sidecar(std::uint64_t number, const std::string& software) const;

private:
  void add_event(std::span<const std::byte> event);

  std::uint64_t bytes_ = 0; ///< of the file
  std::uint32_t crc_ = 0;   ///< of all of them
  file_owner owner_;
  block_tally blocks_;
  std::uint64_t sealed_first_ = 0; ///< ns since 1970
  std::uint64_t sealed_last_ = 0;
  session_tallies sessions_;
  std::map<std::uint32_t, std::uint64_t> spills_; ///< events of each
  std::set<std::uint32_t> settings_;
};

} // namespace l3
