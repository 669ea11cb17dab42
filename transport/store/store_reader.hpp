// SPDX-License-Identifier: Apache-2.0
// Reads a store: the folder of block files that `koto-l3 receive` writes (docs/formats.md, section
// 9), or a daemon's spool (section 11). It may be read while it is written and after any crash: a
// reader returns whole blocks, and skips and counts damaged ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/store/block_file.hpp"

namespace l3 {

/// The place of a block with a valid header and its full length.
struct stored_block {
  block_header header;
  std::uint64_t file = 0;
  std::uint64_t offset = 0; ///< place of the header

  [[nodiscard]] std::uint64_t payload_offset() const { return offset + sizeof(block_header); }
  [[nodiscard]] std::uint64_t end() const { return payload_offset() + header.payload_bytes; }
};

/// The end of a block file after its last whole block: torn by a crash, truncated, or a block
/// being written.
struct torn_end {
  std::string path;
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::string text_of(const torn_end& end);

/// Called while a file is read, once per block and per MiB: true ends the reading.
using stop_question = std::function<bool()>;
struct scan_stopped : std::exception {
  [[nodiscard]] const char* what() const noexcept override {
    return "stopped while its files were being read";
  }
};

/// One block file. Throws std::runtime_error if it cannot be read or has something else than blocks
/// of this version; scan_stopped on request.
class store_file {
public:
  /// A file of a folder. It may have got its complete name since the folder was listed.
  store_file(const std::filesystem::path& folder, const block_file_name& name, store_kind kind,
             stop_question stop = {});
  /// Opens a file of any name. Its number comes from its head.
  store_file(const std::filesystem::path& file, store_kind kind, stop_question stop = {});

  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// Whether the bytes at this place can be read.
  [[nodiscard]] bool can_be_read(std::uint64_t offset, std::uint64_t bytes) const;
  /// The next whole block; nothing if there is none yet. Skips damaged bytes before it. May be
  /// called again after scan_stopped.
  [[nodiscard]] std::optional<stored_block> next();
  /// Fills `to` from this place in the file; returns false if the file ends earlier.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> to) const;
  /// Reads the block's packed events and checks the payload's checksum.
  [[nodiscard]] bool read_payload(const stored_block& block, std::vector<std::byte>& payload) const;
  /// Reads the settings after the events, checked likewise; empty if there are none.
  [[nodiscard]] bool read_settings(const stored_block& block,
                                   std::vector<std::byte>& settings) const;
  /// Reads all entries after the events: settings, and entries written once
  /// (format/block_entries.hpp).
  [[nodiscard]] bool read_entries(const stored_block& block, std::vector<std::byte>& entries) const;
  [[nodiscard]] bool payload_is_right(const stored_block& block) const;
  [[nodiscard]] std::uint64_t size() const; ///< current size
  /// The bytes after the last whole block; call it after next() has returned that block.
  [[nodiscard]] std::optional<torn_end> torn() const;
  /// Set if the disk refused to read a part, or to tell the file's length. Blocks not found since
  /// the file was opened may still exist.
  [[nodiscard]] const std::error_code& refused() const { return refused_; }
  /// Number of places skipped for lack of a valid header.
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }

private:
  void check_head();
  void stop_if_told() const;
  [[nodiscard]] std::optional<stored_block> whole_block_at(std::uint64_t offset) const;
  [[nodiscard]] std::optional<stored_block> search_from(std::uint64_t& offset) const;

  std::uint64_t number_;
  store_kind kind_;
  std::string path_;
  file_descriptor file_;
  stop_question stop_;
  std::uint64_t next_ = sizeof(store_file_header);
  std::uint64_t searched_ = 0; ///< no valid block begins between the next place and this one
  std::uint64_t damaged_ = 0;
  bool head_checked_ = false;
  mutable std::error_code refused_;
};

/// Bytes of a block file that are no valid block.
struct damaged_stretch {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool has_header = false;  ///< the block's header is valid, but its payload is not
  std::uint32_t events = 0; ///< in the block, from a valid header
};

struct found_block : stored_block {
  bool behind_damage = false; ///< the file has damage before it
};

/// The contents of a block file at the start of a receiver or daemon: whole blocks, damaged places,
/// and a torn end.
struct block_scan {
  std::uint64_t bytes = 0;              ///< of the file
  std::deque<found_block> blocks;       ///< with a valid header; if thorough, with a valid payload
  std::vector<damaged_stretch> damaged; ///< before the end of the last whole block
  std::optional<damaged_stretch> torn;  ///< everything after it
  std::uint64_t good_end = 0;           ///< end of the last of `blocks`, or of the file's head
  std::uint64_t stepped_over = 0;       ///< the head, and places without a valid header
  bool readable = true;                 ///< false: the disk refuses a part with unknown contents
};

/// Reads 64 bytes a block, and all again where the disk fails; a thorough scan reads
/// all, for a file in which a crash of the machine may have left blocks whose bytes never reached
/// the disk. Throws std::runtime_error if the file cannot be opened, is no regular file or is of
/// another version; scan_stopped when told.
[[nodiscard]] block_scan scan_block_file(const held_folder& folder, const block_file_name& name,
                                         store_kind kind, bool thorough,
                                         const stop_question& stop = {});

/// Iterates over all blocks of a folder, file by file. Throws like store_file.
class store_reader {
public:
  explicit store_reader(std::filesystem::path folder, stop_question stop = {});

  /// Returns nothing at the current end; a later call may find more if the store is being written.
  [[nodiscard]] std::optional<stored_block> next();
  /// Only for the block that next() returned last.
  [[nodiscard]] bool read_payload(const stored_block& block,
                                  std::vector<std::byte>& payload) const {
    return file_->read_payload(block, payload);
  }
  [[nodiscard]] bool read_settings(const stored_block& block,
                                   std::vector<std::byte>& settings) const {
    return file_->read_settings(block, settings);
  }
  [[nodiscard]] bool read_entries(const stored_block& block,
                                  std::vector<std::byte>& entries) const {
    return file_->read_entries(block, entries);
  }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_ + (file_ ? damaged_in_file() : 0); }
  /// The torn ends of all files, once next() has returned nothing. In complete files they are
  /// damage.
  [[nodiscard]] std::vector<torn_end> torn_ends() const;

private:
  [[nodiscard]] std::optional<block_file_name> following();
  [[nodiscard]] std::optional<store_file> opened_file(const block_file_name& name);
  [[nodiscard]] std::uint64_t damaged_in_file() const;

  std::filesystem::path folder_;
  store_kind kind_;
  stop_question stop_;
  std::vector<block_file_name> listed_; ///< files of the last listing; the next one is last
  std::optional<store_file> file_;
  bool is_complete_ = false;        ///< the current file
  std::uint64_t damaged_ = 0;       ///< in earlier files
  std::vector<torn_end> torn_ends_; ///< likewise
};

} // namespace l3
