// SPDX-License-Identifier: Apache-2.0
// What a crash cost. Beside the ledger lies a small file, FILE.live, in which a daemon notes twice
// a second what became of its events, and at the end that it ended properly. A start that finds one
// without that note says what the run before had done, and how many events can at most have been
// in memory. A thread of its own writes the file: a disk that hangs stops nobody else.
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
  std::uint64_t noted = 0;   ///< the same, when these counts were taken
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
/// Events that were neither stored nor rejected nor shed nor on disk: lost with the memory if they
/// came over UDP, at the most.
[[nodiscard]] std::uint64_t in_memory(const run_record& r);
/// For the log of the next start.
[[nodiscard]] std::string describe_crash(const run_record& r);

class run_record_file {
public:
  using report_function = std::function<void(std::string_view)>;

  /// Reads what the run before left, and begins anew. Whatever is wrong with the file is reported,
  /// and then none is kept: no daemon stays down for that.
  run_record_file(const std::string& file, const run_record& now, report_function report);
  /// What was noted last is written.
  ~run_record_file();
  run_record_file(const run_record_file&) = delete;
  run_record_file& operator=(const run_record_file&) = delete;

  /// Of the run before, if it did not end properly.
  [[nodiscard]] const std::optional<run_record>& crashed() const { return crashed_; }

  /// Hands it to the thread that writes, and does not wait. The time of the start stays.
  void note(run_record now);

private:
  void open(const std::string& file);
  void write_when_told(const std::stop_token& stop);
  [[nodiscard]] bool write(const run_record& r) const;

  report_function report_;
  std::optional<run_record> crashed_;
  std::uint64_t started_ = 0;
  int descriptor_ = -1; // none: nothing is kept

  std::mutex mutex_;
  std::condition_variable_any told_;
  std::optional<run_record> next_;
  std::jthread writer_;
};

} // namespace l3
