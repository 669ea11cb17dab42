// SPDX-License-Identifier: Apache-2.0
// The settings of each session in a store or a spool. Several blocks of a session have copies of
// them; damaged copies are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "selection/trigger/recorded_settings.hpp"
#include "tools/interrupt.hpp"
#include "transport/format/block.hpp"

namespace l3 {

/// The known settings of one session.
struct told_settings {
  std::shared_ptr<const recorded_settings> all; ///< shared by sessions of a menu; null: unknown
  const std::vector<std::byte>* bytes = nullptr;
  std::string fault; ///< why they are unknown
};

class stored_settings {
public:
  /// Reads the headers of all blocks, and the settings. Throws like store_reader, and command_error
  /// after a signal.
  stored_settings(const std::filesystem::path& folder, interrupt& signals);

  /// Reads the folder again for a session that has come since.
  [[nodiscard]] const told_settings& of(const block_header& h);
  /// All known settings, each once.
  [[nodiscard]] std::vector<std::shared_ptr<const recorded_settings>> known() const;
  /// The names of their lines by id, and of the built-in selection's lines for sessions with
  /// unknown settings.
  [[nodiscard]] std::map<std::uint32_t, std::string> line_names() const;

private:
  void read();

  std::filesystem::path folder_;
  interrupt& signals_;
  std::map<std::vector<std::byte>, std::shared_ptr<const recorded_settings>> known_;
  std::map<std::uint64_t, told_settings> sessions_; ///< by number
};

/// The readout in the settings of this store; KOTO's if the blocks with settings are damaged.
/// Throws command_error if two differ.
[[nodiscard]] readout stored_readout(const std::filesystem::path& folder, interrupt& signals);

} // namespace l3
