// SPDX-License-Identifier: Apache-2.0
// The data of a rehearsal and its executor: the options that demo and bench share, and the
// simulation of the data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "tools/command_line.hpp"

namespace l3 {

struct workload {
  std::uint32_t events = 1000;
  std::uint32_t spills = 1;
  std::uint64_t seed = 1;
  std::string waveforms{}; ///< recorded waveforms instead of simulated ones, if not empty
  int samples = 64;        ///< of a recorded waveform
  std::string backend = "auto";
};

/// `to` has the options' defaults. It must live until the command line is parsed.
void add_workload_options(command_line command, workload& to);

/// Runs `koto-l3 simulate` with its output in `log`, or on this program's output if `log` is empty.
/// Throws command_error if it fails, or when `interrupted` returns true.
void simulate(const workload& what, const std::filesystem::path& file,
              const std::filesystem::path& log = {}, const std::function<bool()>& interrupted = {});

} // namespace l3
