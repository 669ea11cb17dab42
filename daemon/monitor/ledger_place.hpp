// SPDX-License-Identifier: Apache-2.0
// Where a daemon writes its ledgers (run.ledger). A name that ends in "/" is a folder: each start,
// and each of its runs, has a ledger there, run000123-NODE-SESSION.json, and none is ever
// overwritten. Another name is a file, which each start overwrites if a daemon wrote it. The record
// of a run (run_record.hpp) lies beside its ledger, with ".live" appended to the name. In a folder
// the record is removed when the run has ended properly; the record of a crashed run is renamed to
// ".crashed" once a start has reported it. A daemon locks its place as long as it lives:
// "node3.lock" in a folder, which daemons of other nodes share, and FILE.lock beside a file.
// "node3.last-run" in a folder has the highest run number: it survives when a person removes
// ledgers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "transport/accounting/ledger.hpp"
#include "transport/format/run_record.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

class ledger_place {
public:
  ledger_place(std::string setting, std::uint32_t node)
      : setting_(std::move(setting)), node_(node) {}

  [[nodiscard]] bool none() const { return setting_.empty(); }
  [[nodiscard]] bool is_folder() const { return setting_.ends_with('/'); }

  /// Makes the folder as why_not_made() says. Locks the place for this object.
  /// Throws std::runtime_error if another daemon has it, or if ledgers cannot be written there, so
  /// that this fails at the start and not at the end.
  void prepare();
  /// Why prepare() would fail, without looking at the lock; empty if it would succeed.
  [[nodiscard]] std::string why_not_here() const;
  [[nodiscard]] std::string file_of(const ledger& l) const;
  [[nodiscard]] static std::string record_beside(const std::string& ledger_file) {
    return ledger_file + ".live";
  }

  /// In a folder: the runs of this node that crashed, each once, in the order of their starts. For
  /// a file run_record_file knows it.
  [[nodiscard]] std::vector<run_record> take_crashed() const;
  /// The highest run of this node that has a ledger or a note in the folder.
  [[nodiscard]] std::optional<std::uint32_t> highest_run() const;
  /// In a folder: notes that this node used this run number. The note keeps the highest known
  /// number.
  [[nodiscard]] std::error_code note_run(std::uint32_t number) const;
  /// The ledger of this node that was written last; nothing if none can be read.
  [[nodiscard]] std::optional<ledger> latest() const;
  /// Whether this run of this node has a ledger in the folder.
  [[nodiscard]] bool has_run(std::uint32_t number) const;
  /// Call it when the run has ended properly and its ledger says so: removes its record in a
  /// folder.
  void drop_record(const std::string& ledger_file) const;

private:
  [[nodiscard]] std::string last_run_file() const;
  [[nodiscard]] std::optional<std::uint32_t> noted_run() const;
  void
  for_each_run(const std::function<void(std::uint32_t, const std::filesystem::path&)>& tell) const;
  void take();
  [[nodiscard]] std::string wrong() const;
  [[nodiscard]] std::string lock_file() const;
  [[nodiscard]] std::string cannot_write(std::string_view why) const;
  [[nodiscard]] std::string taken_text() const;

  std::string setting_;
  std::uint32_t node_;
  file_descriptor lock_;
};

} // namespace l3
