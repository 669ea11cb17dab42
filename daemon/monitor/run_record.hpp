// SPDX-License-Identifier: Apache-2.0
// Tells what a crash cost. In a small file beside the ledger, FILE.live, a daemon notes twice a
// second the outcomes of its events, and at the end that it ended properly. A start that finds a
// file without that note logs the outcomes of the run before, and how many events can at most have
// been in memory. A thread of its own writes the file, so that a disk that hangs stops no other.
// docs/formats.md, section 13, has its bytes.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "transport/accounting/ledger.hpp"

namespace l3 {

/// The file's content: numbers of 8 bytes, little-endian, in this order.
struct run_record {
  std::uint64_t magic = 0;
  std::uint64_t session = 0;
  std::uint64_t run = 0;
  std::uint64_t started = 0; ///< ns since 1970-01-01 UTC
  std::uint64_t noted = 0;   ///< when these counts were taken; the same
  std::uint64_t admitted = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t rejected = 0;
  std::uint64_t shed = 0;
  std::uint64_t on_disk = 0;
  std::uint64_t ended = 0; ///< 1 if the run ended properly

  static constexpr std::uint64_t right_magic = 0x0001'0000'4c33'4c4b; ///< "KL3L", version 1

  friend bool operator==(const run_record&, const run_record&) = default;
};

[[nodiscard]] run_record record_of(const ledger& account);
/// Events that were neither stored, rejected, shed nor on disk: at most these are lost, if they
/// came over UDP.
[[nodiscard]] std::uint64_t in_memory(const run_record& r);
/// The log line of the next start.
[[nodiscard]] std::string describe_crash(const run_record& r);

class run_record_file {
public:
  using report_function = std::function<void(std::string_view)>;

  /// Reads the record of the run before, and begins a new one. A fault of the file is reported, and
  /// no record is kept: the daemon starts all the same.
  run_record_file(const std::string& file, const run_record& now, report_function report);
  /// Writes the last note.
  ~run_record_file();
  run_record_file(const run_record_file&) = delete;
  run_record_file& operator=(const run_record_file&) = delete;

  /// The record of the run before, if it did not end properly.
  [[nodiscard]] const std::optional<run_record>& crashed() const { return crashed_; }

  /// Hands the counts to the writing thread without waiting. The time of the start stays.
  void note(run_record now);

private:
  void open(const std::string& file);
  void write_when_told(const std::stop_token& stop);
  [[nodiscard]] bool write(const run_record& r) const;

  report_function report_;
  std::optional<run_record> crashed_;
  std::uint64_t started_ = 0;
  int descriptor_ = -1; // -1: no record is kept

  std::mutex mutex_;
  std::condition_variable_any told_;
  std::optional<run_record> next_;
  std::jthread writer_;
};

} // namespace l3
