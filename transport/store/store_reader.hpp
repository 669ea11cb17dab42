// SPDX-License-Identifier: Apache-2.0
// Reading a store: the folder of block files that `koto-l3 receive` writes (docs/formats.md,
// section 9), or that a daemon's spool leaves behind (section 11). It may be read while it is
// written and after any crash: a reader takes what is whole, steps over what is damaged, and counts
// it.
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

/// Where a block lies: its header is good and as many bytes as it tells are there.
struct stored_block {
  block_header header;
  std::uint64_t file = 0;
  std::uint64_t offset = 0; ///< of the header

  [[nodiscard]] std::uint64_t payload_offset() const { return offset + sizeof(block_header); }
  [[nodiscard]] std::uint64_t end() const { return payload_offset() + header.payload_bytes; }
};

/// The end of a block file that is no whole block: a crash tore it, the file was cut, or a block is
/// being written.
struct torn_end {
  std::string path;
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::string text_of(const torn_end& end);

/// Asked while a file is read, once a block and once a MiB: true ends the reading.
using stop_question = std::function<bool()>;
struct scan_stopped : std::exception {
  [[nodiscard]] const char* what() const noexcept override {
    return "told to end while its files were being read";
  }
};

/// One block file. Throws std::runtime_error if it cannot be read, or holds something else than
/// blocks of this version; scan_stopped when told.
class store_file {
public:
  store_file(const std::filesystem::path& folder, std::uint64_t number,
             store_kind kind = store_kind::store, stop_question stop = {});
  /// The same, where the folder was listed lately.
  store_file(const std::filesystem::path& folder, const block_file_name& name, store_kind kind,
             stop_question stop = {});
  /// A file of any name. Its number is what its head says.
  store_file(const std::filesystem::path& file, store_kind kind, stop_question stop = {});
  /// Of a folder that this program has.
  store_file(const held_folder& folder, const std::string& name, std::uint64_t number,
             store_kind kind, stop_question stop = {});

  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// The bytes at this place can be read, whatever they are.
  [[nodiscard]] bool can_be_read(std::uint64_t offset, std::uint64_t bytes) const;
  /// The next whole block; nothing if none is there yet. Damaged bytes before it are stepped over.
  /// After scan_stopped, this goes on where it was.
  [[nodiscard]] std::optional<stored_block> next();
  /// Fills `to` from this place in the file; false if there are fewer bytes.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> to) const;
  /// The block's packed events, if the checksum of its payload is right.
  [[nodiscard]] bool read_payload(const stored_block& block, std::vector<std::byte>& payload) const;
  /// The settings behind them, checked likewise; empty: it has none.
  [[nodiscard]] bool read_settings(const stored_block& block,
                                   std::vector<std::byte>& settings) const;
  /// All entries behind them: the settings, and what stands once (format/block_entries.hpp).
  [[nodiscard]] bool read_entries(const stored_block& block, std::vector<std::byte>& entries) const;
  [[nodiscard]] bool payload_is_right(const stored_block& block) const;
  [[nodiscard]] std::uint64_t size() const; ///< now
  /// What lies behind the last whole block; meant for when next() has given that one.
  [[nodiscard]] std::optional<torn_end> torn() const;
  /// Set: the disk refused a part that was read, or to say how long the file is. What was not found
  /// since it was opened may be there all the same.
  [[nodiscard]] const std::error_code& refused() const { return refused_; }
  /// Stretches stepped over because no good header began where one should.
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
  std::uint64_t searched_ = 0; ///< no good block begins between the next place and this one
  std::uint64_t damaged_ = 0;
  bool head_checked_ = false;
  mutable std::error_code refused_;
};

/// Bytes of a block file that are no good block.
struct damaged_stretch {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool has_header = false;  ///< the block's header is good, and only its payload is not
  std::uint32_t events = 0; ///< in the block, if the header tells
};

struct found_block : stored_block {
  bool behind_damage = false; ///< something before it in the file is damaged
};

/// What a block file holds when a receiver or a daemon finds it at its start: whole blocks,
/// stretches that are damaged, and the end that a crash tore off.
struct block_scan {
  std::uint64_t bytes = 0;              ///< of the file
  std::deque<found_block> blocks;       ///< with a good header; if thorough, with a good payload
  std::vector<damaged_stretch> damaged; ///< each begins before the end of the last whole block
  std::optional<damaged_stretch> torn;  ///< all that is behind it
  std::uint64_t good_end = 0;           ///< end of the last of `blocks`, or of the file's head
  std::uint64_t stepped_over = 0;       ///< the head, and places where no good header begins
  bool readable = true; ///< false: the disk refuses a part; what lies there is not known
};

/// Reads 64 bytes a block, and all once more where the disk refuses a part; a thorough scan reads
/// all, for a file in which a crash of the machine may have left blocks whose bytes never reached
/// the disk. Throws std::runtime_error if the file cannot be opened, is no regular file or is of
/// another version; scan_stopped when told.
[[nodiscard]] block_scan scan_block_file(const held_folder& folder, const std::string& name,
                                         std::uint64_t number, store_kind kind, bool thorough,
                                         const stop_question& stop = {});

/// All blocks of a folder, file by file. Throws like store_file.
class store_reader {
public:
  explicit store_reader(std::filesystem::path folder, stop_question stop = {});

  /// Nothing at the present end; if the store is being written, a later call may find more.
  [[nodiscard]] std::optional<stored_block> next();
  /// Of the block that next() returned last.
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
  /// Of all files, once next() gives nothing. Those of complete files count as damaged places.
  [[nodiscard]] std::vector<torn_end> torn_ends() const;

private:
  [[nodiscard]] std::optional<block_file_name> following();
  [[nodiscard]] std::optional<store_file> opened_file(const block_file_name& name);
  [[nodiscard]] std::uint64_t damaged_in_file() const;

  std::filesystem::path folder_;
  store_kind kind_;
  stop_question stop_;
  std::vector<block_file_name>
      listed_; ///< the files that were there at the last look, the next last
  std::optional<store_file> file_;
  bool is_complete_ = false;        ///< that file
  std::uint64_t damaged_ = 0;       ///< in the files before this one
  std::vector<torn_end> torn_ends_; ///< likewise
};

} // namespace l3
