// SPDX-License-Identifier: Apache-2.0
// .l2raw files: level-2 data as a sequence of records (docs/formats.md, section 4). The writer
// creates a file that starts with a hello and whose records count without gaps; the reader returns
// the records of a file one by one, each checked. A system error (no such file, disk full) is an
// exception whose text names the file; damage inside a file is a value with place and reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/file/record_parser.hpp"
#include "transport/system/input_file.hpp"
#include "transport/system/mapped_memory.hpp"

namespace l3 {

/// Writes a file through a buffer. Not thread-safe. Every function throws std::runtime_error if the
/// file cannot be written; after that only the destructor may be called.
class l2raw_writer {
public:
  /// Creates or truncates the file and writes the hello.
  l2raw_writer(const std::filesystem::path& file, std::uint32_t run, readout crates);
  ~l2raw_writer();
  l2raw_writer(const l2raw_writer&) = delete;
  l2raw_writer& operator=(const l2raw_writer&) = delete;

  void begin_of_spill(std::uint32_t spill, std::chrono::nanoseconds beam_on);
  /// Writes an event of the last begun spill.
  void event(std::uint32_t number, std::chrono::nanoseconds since_spill,
             std::span<const crate_fragment> fragments);
  /// Ends the last begun spill, with the number of its events.
  void end_of_spill(std::chrono::nanoseconds cycle);

  /// Flushes and closes the file. The destructor does the same, but cannot report a failure.
  void close();

  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_; }

private:
  void record(record_type type, std::uint32_t spill, std::span<const std::byte> body);
  void append(std::span<const std::byte> bytes);
  void flush();

  std::filesystem::path file_;
  readout crates_;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> table_;
  std::uint64_t sequence_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t spill_ = 0;
  std::uint32_t spill_events_ = 0;
};

/// A record of a file, in memory of its reader.
struct record_view {
  record_header header;
  std::span<const std::byte> body;
};

/// Place and reason of the damage that stops the reader.
struct file_damage {
  std::uint64_t offset = 0; ///< of the record
  refused reason = refused::stream_magic;
  std::uint32_t version = 0; ///< of the record, if the reason is stream_version

  [[nodiscard]] std::string text() const; ///< "offset 4096: stream_checksum"
};

/// Whether the body of a record is valid until the next record is read, or as long as the reader.
enum class l2raw_keep : std::uint8_t { one, all };

/// Reads a file into its own memory, so that checked records do not change even if another program
/// truncates or writes the file. It has room for one record, or for the whole file. Not
/// thread-safe.
class l2raw_reader {
public:
  /// Throws std::runtime_error if the file cannot be opened, or does not fit the memory. A file
  /// without a valid hello has damage() and no records.
  explicit l2raw_reader(const std::filesystem::path& file, l2raw_keep keep = l2raw_keep::one);

  [[nodiscard]] std::uint32_t run() const { return hello_.run; }
  [[nodiscard]] const readout& crates() const { return hello_.crates; }

  /// The next record after the hello, with checked checksums and sequence number. Nothing at the
  /// end, or at damage(). Throws std::runtime_error if reading the disk fails.
  [[nodiscard]] std::optional<record_view> next();
  /// Goes back to the first record after the hello.
  void rewind();

  [[nodiscard]] const std::optional<file_damage>& damage() const { return damage_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t size() const { return in_.bytes; } ///< size at opening

private:
  std::optional<refused> read_here(record_view& record);
  std::span<const std::byte> here(std::uint64_t wanted);
  void read_until(std::uint64_t end);

  std::filesystem::path name_;
  input_file in_;
  mapped_memory memory_; // holds the file's bytes from begin_ to end_
  std::uint64_t window_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  hello hello_;
  std::optional<file_damage> damage_;
  std::uint64_t position_ = 0;
  std::uint64_t first_ = 0;    // offset of the first record after the hello; 0: no valid hello
  std::uint64_t sequence_ = 0; // of the last record read
};

/// For a reader with damage(): "is not an .l2raw file", "ends within a record, at offset 4096", "is
/// damaged at offset 4096: stream_checksum".
[[nodiscard]] std::string fault_of(const l2raw_reader& file);

} // namespace l3
