// SPDX-License-Identifier: Apache-2.0
// The folder that `koto-l3 reprocess` writes (docs/formats.md, section 14): a store, and in its
// folder `reprocess` the plan, copies of what decides, a record of each file that is done, and the
// manifest. Several machines may write to it at once: every file gets its name when it is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <boost/json/value.hpp>

namespace l3 {

class reprocess_folder {
public:
  explicit reprocess_folder(std::filesystem::path out)
      : store_(std::move(out)), own_(store_ / "reprocess") {}

  [[nodiscard]] const std::filesystem::path& store() const { return store_; }
  [[nodiscard]] const std::filesystem::path& own() const { return own_; }
  [[nodiscard]] std::filesystem::path plan() const { return own_ / "plan.json"; }
  [[nodiscard]] std::filesystem::path menu() const { return own_ / "menu.toml"; }
  [[nodiscard]] std::filesystem::path detector() const { return own_ / "detector.toml"; }
  [[nodiscard]] std::filesystem::path calibration() const { return own_ / "calibration"; }
  [[nodiscard]] std::filesystem::path record(std::uint64_t task) const;
  [[nodiscard]] std::filesystem::path manifest() const { return own_ / "manifest.json"; }
  [[nodiscard]] std::filesystem::path ledger() const { return store_ / "ledger.json"; }
  /// A file that is being written: no two processes on any machines have the same.
  [[nodiscard]] std::filesystem::path pending(const std::string& name) const;
  /// Removes what processes of this machine were writing that are no more.
  void remove_leftovers() const;

private:
  std::filesystem::path store_;
  std::filesystem::path own_;
};

/// Writes a file as a whole, and to the disk: a reader finds the old one or the new one. Throws
/// std::system_error.
void write_whole(const reprocess_folder& folder, const std::filesystem::path& file,
                 const std::string& text);

/// Nothing: there is no such file. Throws std::runtime_error that names the file if it is no JSON,
/// or longer than any that `reprocess` writes.
[[nodiscard]] std::optional<boost::json::value> read_json(const std::filesystem::path& file);

/// Readable JSON: a key a line.
[[nodiscard]] std::string in_lines(const boost::json::value& value, int indent = 0);

} // namespace l3
