// SPDX-License-Identifier: Apache-2.0
// The small file beside the files of a store that says what should be in them (docs/formats.md,
// section 9), so that the next receiver notices what was removed while none ran. Each entry has a
// place of its own, which is written over while its file grows. All of it is written anew, under
// another name that then takes its own, when places change. An entry that is damaged says nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <vector>

#include "transport/store/block_tally.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// Blocks of one session in one file of a store. One of no blocks, with events, says that so many
/// files, up to this one, are not listed; without events, that the file went on purpose, and of a
/// session up to which number its blocks did.
struct listed_blocks {
  std::uint64_t file = 0;
  std::uint64_t session = 0;
  block_tally blocks;
};

class store_manifest {
public:
  static constexpr const char* file_name = "manifest.kl3m";

  /// At most `most` entries, by file and session. No error: also where there is none.
  [[nodiscard]] static std::vector<listed_blocks> read(const held_folder& folder, std::size_t most,
                                                       std::error_code& error);
  /// The same, where another program may have the folder.
  [[nodiscard]] static std::vector<listed_blocks> read(const std::filesystem::path& folder,
                                                       std::size_t most, std::error_code& error);

  /// Writes a whole one: these entries, list by list. After an error the one before is as it was.
  [[nodiscard]] std::error_code write(const held_folder& folder,
                                      std::initializer_list<const std::deque<listed_blocks>*> lists,
                                      bool sync);
  /// Writes one entry of it, or one behind the last.
  [[nodiscard]] std::error_code put(std::size_t place, const listed_blocks& entry);
  [[nodiscard]] std::error_code flush() const;
  /// The name leads to what was written.
  [[nodiscard]] bool is_in_place(const held_folder& folder) const;

private:
  file_descriptor file_;
  std::uint64_t bytes_ = 0;
};

} // namespace l3
