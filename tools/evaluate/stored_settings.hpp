// SPDX-License-Identifier: Apache-2.0
// What a store or a spool says of the settings that decided each of its sessions. They stand in
// several blocks of a session: copies that are damaged are passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "selection/trigger/recorded_settings.hpp"
#include "tools/interrupt.hpp"
#include "transport/format/block.hpp"

namespace l3 {

/// What is known of the settings of one session.
struct told_settings {
  std::shared_ptr<const recorded_settings> all; ///< sessions of one menu share it; null: not known
  const std::vector<std::byte>* bytes = nullptr;
  std::string fault; ///< why they are not known
};

class stored_settings {
public:
  /// Reads the headers of all blocks, and the settings. Throws like store_reader, and command_error
  /// after a signal.
  stored_settings(const std::filesystem::path& folder, interrupt& signals);

  /// Of a session that has come since the folder was read, it reads the folder again.
  [[nodiscard]] const told_settings& of(const block_header& h);
  /// Each once.
  [[nodiscard]] std::vector<std::shared_ptr<const recorded_settings>> known() const;
  /// The names of their lines by their ids, and of those of the built-in selection, for sessions
  /// whose settings are not known.
  [[nodiscard]] std::map<std::uint32_t, std::string> line_names() const;

private:
  void read();

  std::filesystem::path folder_;
  interrupt& signals_;
  std::map<std::vector<std::byte>, std::shared_ptr<const recorded_settings>> known_;
  std::map<std::uint64_t, told_settings> sessions_; ///< by number
};

/// What the settings in this store say; KOTO's where the blocks that have them are damaged. Throws
/// command_error if two differ.
[[nodiscard]] readout stored_readout(const std::filesystem::path& folder, interrupt& signals);

} // namespace l3
