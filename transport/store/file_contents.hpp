// SPDX-License-Identifier: Apache-2.0
// The contents of one store file: counts, a checksum of all its bytes, and the sidecar that lists
// them when the file is complete (docs/formats.md, section 9). Updated while the file grows, so the
// file is read again only if blocks were removed from it.
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
#include "transport/store/held_folder.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

class file_contents {
public:
  /// A file with a head and no blocks.
  explicit file_contents(std::span<const std::byte> head);
  /// Adds a block whose bytes follow everything added before.
  void add(std::span<const std::byte> block, const block_header& header);

  [[nodiscard]] bool is_empty() const { return blocks_.blocks == 0; }
  [[nodiscard]] file_owner owner() const { return owner_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// One JSON object; `software`: the writer of the file.
  [[nodiscard]] std::string sidecar(std::uint64_t number, const std::string& software) const;

private:
  struct block_tally {
    std::uint64_t first = 0; ///< the lowest sequence number
    std::uint64_t last = 0;  ///< the highest
    std::uint64_t blocks = 0;
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;    ///< of packed events
    std::uint64_t repeated = 0; ///< events left out because another session had stored them

    void add(const block_header& block);
  };

  std::uint64_t bytes_ = 0; ///< of the file
  std::uint32_t crc_ = 0;   ///< of all bytes
  file_owner owner_;
  block_tally blocks_;             ///< of all sessions
  std::uint64_t sealed_first_ = 0; ///< ns since 1970
  std::uint64_t sealed_last_ = 0;
  std::map<std::uint64_t, block_tally> sessions_;
  std::map<std::uint32_t, std::uint64_t> spills_; ///< number of events by spill
  std::set<std::uint32_t> settings_;
};

/// The contents of a closed file, read with memory for one block. Nothing if the file has anything
/// else than its head and whole blocks, or cannot be read. Throws scan_stopped on request.
[[nodiscard]] std::optional<file_contents> read_contents(const held_folder& folder,
                                                         const block_file_name& name,
                                                         const stop_question& stop = {});

} // namespace l3
