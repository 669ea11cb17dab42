// SPDX-License-Identifier: Apache-2.0
// The segment that a spool is writing: a file like those of a store (docs/formats.md, section 11),
// to which whole blocks are appended. What append() refuses is not in the file; after an error that
// leaves doubt about the file, is_sound() says that the next block belongs into another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

class spool_segment {
public:
  /// What makes blocks survive the machine, such as fdatasync: 0, or −1 and errno. Null: nothing
  /// does.
  using flush_function = int (*)(int file);

  spool_segment() = default;
  /// Makes the file of this number.
  [[nodiscard]] std::error_code open(const std::filesystem::path& folder, std::uint64_t number,
                                     flush_function flush);
  void close() { *this = spool_segment(); }
  [[nodiscard]] bool is_open() const { return static_cast<bool>(file_); }
  [[nodiscard]] bool is_sound() const { return sound_; }

  [[nodiscard]] std::error_code append(std::span<const std::byte> block);

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::uint64_t end() const { return end_; } ///< where the next block will begin

private:
  file_descriptor file_;
  flush_function flush_ = nullptr;
  std::uint64_t number_ = 0;
  std::uint64_t end_ = 0;
  bool sound_ = true;
};

/// Nobody needs the file any more.
[[nodiscard]] bool remove_segment(const std::filesystem::path& folder, std::uint64_t number);

} // namespace l3
