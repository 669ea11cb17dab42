// SPDX-License-Identifier: Apache-2.0
// What became of one file of a store: the account that `reprocess` leaves beside the file that it
// writes. It comes last: where there is a record, the file that it names was whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/reprocess/reprocess_folder.hpp"

namespace l3 {

/// A file of blocks as it was read or written.
struct recorded_file {
  std::string name; ///< without its folder; empty: none was written, because there were no blocks
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0; ///< CRC-32C of all of them
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;

  friend bool operator==(const recorded_file&, const recorded_file&) = default;
};

/// What could not be read of an input. Its events are in no output.
struct unreadable_part {
  std::uint64_t places = 0; ///< where no block begins although one should; a complete file's end
  std::uint64_t blocks = 0; ///< whose payload is not what was written
  std::uint64_t events = 0; ///< in these blocks, as their headers or the sidecar say, and broken
  std::uint64_t torn_bytes = 0; ///< at the end: no whole block

  [[nodiscard]] bool none() const { return places + blocks + events == 0; }
  friend bool operator==(const unreadable_part&, const unreadable_part&) = default;
};

struct task_record {
  std::uint64_t task = 0;
  std::uint32_t settings = 0;
  std::string software;
  std::string store;
  recorded_file input; ///< `events`: all that its blocks' headers promise, or its sidecar
  recorded_file output;
  std::uint64_t kept = 0;
  std::uint64_t rejected = 0;
  std::uint64_t not_judged = 0; ///< of those kept
  std::uint64_t limited = 0;    ///< left out: not all their waveforms were kept
  boost::json::object left_out; ///< these by payload and line, as json_of() of a payload_tally
  unreadable_part unreadable;
  std::uint32_t last_run = 0;
  std::vector<std::uint64_t> sessions; ///< of the output
  boost::json::array lines;            ///< by line: fired, kept, refused by reason

  /// Every event of the input is kept, rejected, limited or unreadable.
  [[nodiscard]] bool balanced() const {
    return input.events == kept + rejected + limited + unreadable.events && output.events == kept;
  }
};

[[nodiscard]] boost::json::value to_json(const task_record& r);
/// Nothing: the task was not done. Throws std::runtime_error that names a file that is no record of
/// this task.
[[nodiscard]] std::optional<task_record> read_record(const reprocess_folder& folder,
                                                     std::uint64_t task);

} // namespace l3
