// SPDX-License-Identifier: Apache-2.0
// Where a spool puts copies of what it could not use: damaged blocks, ends that a crash tore off.
// A person may want to look at them; no program needs them. So they are bounded in number and in
// bytes, and a copy that cannot be made is not made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "transport/store/block_scan.hpp"

namespace l3 {

class spool_quarantine {
public:
  static constexpr std::uint64_t most_files = 64;
  static constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

  /// Counts what is there from earlier; makes no folder before it is needed.
  explicit spool_quarantine(std::filesystem::path folder);

  [[nodiscard]] bool has_room(std::uint64_t bytes) const {
    return files_ < most_files && bytes <= most_bytes - bytes_;
  }
  /// Copies what lies at this place of a segment. True if the copy is there now, or was before.
  bool keep(const std::filesystem::path& segment, const damaged_stretch& what,
            std::string_view kind);

  /// The highest of which there is a copy. A new segment needs a number of its own: copies are
  /// named after it.
  [[nodiscard]] std::uint64_t last_segment() const { return last_segment_; }

private:
  std::filesystem::path folder_;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t last_segment_ = 0;
};

} // namespace l3
