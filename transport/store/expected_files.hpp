// SPDX-License-Identifier: Apache-2.0
// What should be in a store by what stands beside its files: their sidecars and the manifest
// (docs/formats.md, section 9). Everything that reads a store notes here what it finds, and is told
// in sentences what is not there. The store may be written meanwhile: what the manifest lists is in
// the files already, so the manifest is read before them, and once more before anything is missed,
// because a receiver takes archived files out of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "transport/store/block_file.hpp"
#include "transport/store/block_tally.hpp"

namespace l3 {

/// A file of a store that was read to its end.
struct file_as_read {
  block_file_name name; ///< at that time
  std::uint64_t events = 0;
  std::uint32_t crc = 0; ///< of all of it, if it is complete and nothing in it is damaged
  bool torn = false;     ///< its end is no whole block
  bool damaged = false;  ///< some of it was stepped over
};

class expected_files {
public:
  /// Expects nothing.
  expected_files() = default;
  /// Reads the manifest.
  explicit expected_files(std::filesystem::path folder);

  /// A block of this file has a good header.
  void note(std::uint64_t file, const block_header& block);
  /// A sentence on each file that is not there or not read, has no sidecar, is not as long as that
  /// says, or lacks blocks or events.
  [[nodiscard]] std::vector<std::string> faults(std::span<const file_as_read> read) const;
  /// A sentence on each file that is not there, or that nobody reads because another one has its
  /// number. Reads no block.
  [[nodiscard]] std::vector<std::string> gone() const;

private:
  using tallies_by_file = std::map<std::uint64_t, session_tallies>;

  [[nodiscard]] tallies_by_file listed_now(std::string& fault) const;
  [[nodiscard]] std::vector<std::string> lacking_blocks(const std::set<std::uint64_t>& told) const;

  std::filesystem::path folder_;
  std::string manifest_fault_; ///< why it cannot be read
  tallies_by_file listed_;
  tallies_by_file found_; ///< of the files and sessions that are listed
};

} // namespace l3
