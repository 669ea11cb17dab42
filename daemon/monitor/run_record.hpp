// SPDX-License-Identifier: Apache-2.0
// Records what a crash cost. A daemon writes the outcomes of its events twice a second into a small
// file beside the ledger, FILE.live, and at the end that it ended properly. A start that finds a
// file without that mark logs the outcomes of the previous run, and an upper limit of the events in
// memory. A separate thread writes the file, so that a hanging disk blocks no other thread. The
// format is in docs/formats.md, section 13.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "transport/accounting/ledger.hpp"
#include "transport/format/run_record.hpp"

namespace l3 {

[[nodiscard]] run_record record_of(const ledger& account);
/// Events that were neither stored, rejected, shed nor on disk. A crash loses at most these, and
/// only those that came over UDP.
[[nodiscard]] std::uint64_t in_memory(const run_record& r);
/// The log line of the next start.
[[nodiscard]] std::string describe_crash(const run_record& r);

class run_record_file {
public:
  /// Reads the record of the previous run and begins a new one. If the file cannot be used, no
  /// record is kept, and the daemon starts anyway.
  run_record_file(std::string file, const run_record& now);
  /// Writes the final record.
  ~run_record_file();
  run_record_file(const run_record_file&) = delete;
  run_record_file& operator=(const run_record_file&) = delete;

  /// The record of the previous run if it did not end properly.
  [[nodiscard]] const std::optional<run_record>& crashed() const { return crashed_; }

  /// Why a crash now would leave its losses unknown; empty if the latest counts are written.
  [[nodiscard]] std::string error() const;
  /// Hands the counts to the writing thread without waiting. The start time is not changed.
  void note(run_record now);

private:
  void open();
  void write_when_told(const std::stop_token& stop);
  void write(const run_record& r);
  void set_error(std::string why);

  std::string file_;
  std::optional<run_record> crashed_;
  std::uint64_t started_ = 0;
  int descriptor_ = -1; // -1: no record is kept

  mutable std::mutex mutex_;
  std::condition_variable_any told_;
  std::optional<run_record> next_;
  int waits_ = 0; // counts that replaced others before those were written
  std::string error_;
  std::jthread writer_;
};

} // namespace l3
