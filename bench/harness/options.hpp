// SPDX-License-Identifier: Apache-2.0
// Options shared by several benches. Variables passed to these functions must live as long as the
// command.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/settings.hpp"
#include "tools/command_line.hpp"

namespace l3::bench {

/// --rounds and --json.
struct turn_options {
  std::uint32_t rounds = 15;
  bool as_json = false;
};
void add_turn_options(command_line command, turn_options& o);

/// A number from `least` to `most`.
void add_count(command_line command, const std::string& option, std::uint32_t& n,
               const std::string& what, std::uint32_t least, std::uint32_t most);

/// A number of bytes, optionally with a unit.
void add_size(command_line command, const std::string& option, std::uint64_t& bytes,
              const std::string& what, std::uint64_t least, std::uint64_t most);

/// --backend and --threads: the executor of the kernels.
void add_compute_options(command_line command, compute_settings& settings);

/// Whether the kernels run on a device. Throws command_error if one was requested but there is
/// none.
[[nodiscard]] bool on_device(const compute_settings& settings);

/// --backend auto, cuda or none, for benches that always measure one core.
void add_device_option(command_line command, std::string& backend);

/// Why no device is measured; empty if one is. Throws like on_device.
[[nodiscard]] std::string why_no_device(const std::string& backend);

} // namespace l3::bench
