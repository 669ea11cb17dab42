// SPDX-License-Identifier: Apache-2.0
// Proves from inputs and outputs that each event of the inputs is in exactly one output, or was
// rejected, left out as limited, or unreadable as the records say. It computes nothing: it reads
// both and compares them event by event, without their summaries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/reprocess/reprocess_plan.hpp"
#include "tools/reprocess/task_record.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

struct reprocess_totals {
  std::uint64_t tasks = 0; ///< that are done
  std::uint64_t events = 0;
  std::uint64_t kept = 0;
  std::uint64_t rejected = 0;
  std::uint64_t not_judged = 0;
  std::uint64_t limited = 0;
  boost::json::object left_out; ///< these by payload and line
  unreadable_part unreadable;
  std::string first_damaged; ///< the first input of which a part could not be read
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;

  void add(const task_record& r);
};

struct reprocess_verdict {
  reprocess_totals totals;
  // Sentences; each begins with the file that it is about.
  std::vector<std::string> missing;
  std::vector<std::string> doubled;
  std::vector<std::string> changed;
  /// Events that an input has once more, in another file or session: level 2 gave them out again.
  std::vector<std::string> repeated;
  std::uint64_t repeated_events = 0;

  /// But for what was repeated before it was stored.
  [[nodiscard]] bool holds() const { return missing.empty() && doubled.empty() && changed.empty(); }
};

/// Reads every byte of both. Throws command_error, std::runtime_error if a file cannot be read;
/// scan_stopped when told.
[[nodiscard]] reprocess_verdict check_reprocessed(const reprocess_folder& folder,
                                                  const reprocess_plan& plan,
                                                  const stop_question& stop);

/// When every task has its record, writes the manifest and the ledger. False: some are not done.
bool write_manifest(const reprocess_folder& folder, const reprocess_plan& plan);

} // namespace l3
