// SPDX-License-Identifier: Apache-2.0
// The folder where a daemon writes its ledgers (run.ledger). Each start, and each of its runs, has
// a ledger there, run000123-NODE-SESSION.json, and none is ever overwritten. The record of a run
// (run_record.hpp) lies beside its ledger, with ".live" appended to the name. It is removed when
// the run has ended properly; the record of a crashed run is renamed to ".crashed" once a start has
// reported it. A daemon locks "node3.lock" as long as it lives; daemons of other nodes share the
// folder. "node3.last-run" has the highest run number: it survives when a person removes ledgers.
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
  /// `folder`: with or without "/" at its end.
  ledger_place(const std::filesystem::path& folder, std::uint32_t node)
      : folder_(folder.has_filename() ? folder : folder.parent_path()), node_(node) {}

  /// Makes the folder as why_not_made() says. Locks the node's place there for this object.
  /// Throws std::runtime_error if another daemon has it, or if ledgers cannot be written there, so
  /// that this fails at the start and not at the end.
  void prepare();
  /// Why prepare() would fail, without looking at the lock; empty if it would succeed.
  [[nodiscard]] std::string why_not_here() const;
  [[nodiscard]] std::string file_of(const ledger& l) const;
  [[nodiscard]] static std::string record_beside(const std::string& ledger_file) {
    return ledger_file + ".live";
  }

  /// The runs of this node that crashed, each once, in the order of their starts. Call it after
  /// prepare() and before this run has a record.
  [[nodiscard]] std::vector<run_record> take_crashed() const;
  /// The highest run of this node that has a ledger or a note.
  [[nodiscard]] std::optional<std::uint32_t> highest_run() const;
  /// Notes that this node used this run number. The note keeps the highest known number.
  [[nodiscard]] std::error_code note_run(std::uint32_t number) const;
  /// The ledger of this node that was written last; nothing if none can be read.
  [[nodiscard]] std::optional<ledger> latest() const;
  /// Whether this run of this node has a ledger.
  [[nodiscard]] bool has_run(std::uint32_t number) const;

private:
  [[nodiscard]] std::string node_file(std::string_view kind) const;
  [[nodiscard]] std::optional<std::uint32_t> noted_run() const;
  void
  for_each_run(const std::function<void(std::uint32_t, const std::filesystem::path&)>& tell) const;
  [[nodiscard]] std::string cannot_write(std::string_view why) const;

  std::filesystem::path folder_;
  std::uint32_t node_;
  file_descriptor lock_;
};

} // namespace l3
