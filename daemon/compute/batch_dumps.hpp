// SPDX-License-Identifier: Apache-2.0
// Keeps the batches on which the device failed as .l3batch files, which `koto-l3 rerun` computes
// again elsewhere. The drain thread hands over a copy and continues; a thread of this class writes
// it. A batch is skipped and counted if another batch is being written or was offered shortly
// before, if the folder is full, or if the disk is full. So the first failures are kept, and data
// never wait for the disk.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "gpu/memory/frame.hpp"
#include "transport/accounting/counters.hpp"
#include "transport/file/batch_file.hpp"
#include "transport/format/time.hpp"

namespace l3 {

struct dump_limits {
  std::ptrdiff_t files = 16; ///< limit of files in the folder
  std::chrono::nanoseconds interval = std::chrono::seconds(10);
};

/// The origin written into every file of a daemon.
struct dump_origin {
  std::uint32_t run = 0;
  std::uint32_t node = 0;
  std::string version;
  std::string build;
  std::string executor;
  std::string configuration; ///< as --print-config shows it
  std::string lines;         ///< contents of the selection's files; empty for built-in ones
  std::string detector;
  std::string calibration;
};

class batch_dumps {
public:
  /// Makes no folder: without it, or with an empty name, no batch is kept.
  batch_dumps(std::string folder, dump_origin origin, dump_limits limits = {});
  ~batch_dumps(); ///< writes the batch that was handed over
  batch_dumps(const batch_dumps&) = delete;
  batch_dumps& operator=(const batch_dumps&) = delete;

  /// Hands over the input of a frame, and its results and output if there are any. Call it from one
  /// thread.
  void offer(std::string_view kind, std::string_view reason, const frame& f);

  // Any thread.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t skipped() const { return skipped_by_owner_ + skipped_by_writer_; }

private:
  [[nodiscard]] batch_file copy_of(std::string_view kind, std::string_view reason,
                                   const frame& f) const;
  void write_until_stopped(const std::stop_token& stop);
  [[nodiscard]] bool write(const batch_file& batch) const;
  [[nodiscard]] bool is_full() const;

  std::filesystem::path folder_;
  dump_origin origin_;
  dump_limits limits_;
  std::optional<time_point> last_offer_;
  counter written_;
  counter skipped_by_owner_;
  counter skipped_by_writer_;

  std::mutex mutex_; ///< guards the members below
  std::condition_variable_any changed_;
  std::optional<batch_file> waiting_; ///< waits or is being written
  std::string name_;                  ///< file name of waiting_
  std::jthread writer_;
};

} // namespace l3
