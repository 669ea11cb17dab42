// SPDX-License-Identifier: Apache-2.0
// What is in one file of a store: counts, a checksum of all its bytes, and the sidecar that says so
// when the file is complete (docs/formats.md, section 9). It is kept while the file grows, so that
// nothing has to be read again, but for a file from which blocks were taken back. Events are
// believed no further than their lengths go: what a sender wrote into one can make a figure wrong,
// and do no harm.
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
#include "transport/store/held_folder.hpp"
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

/// Reads what is in a closed file, in steps: the file may have a gibibyte, and the thread that
/// reads has other work between two steps. Memory is one block.
class contents_reading {
public:
  contents_reading() = default;
  ~contents_reading() = default;
  contents_reading(const contents_reading&) = delete;
  contents_reading& operator=(const contents_reading&) = delete;

  /// Begins, or goes on. True: it has come to its end. `enough` is asked before each block, and
  /// once a MiB where there is none.
  [[nodiscard]] bool go_on(const held_folder& folder, const std::string& name, std::uint64_t number,
                           const stop_question& enough);
  /// At its end. Nothing: the file has something else than its head and whole blocks, or cannot be
  /// read.
  [[nodiscard]] const std::optional<file_contents>& found() const { return found_; }

private:
  void read_blocks();

  const stop_question* enough_ = nullptr;
  std::optional<store_file> file_;
  std::optional<file_contents> found_;
};

} // namespace l3
