// SPDX-License-Identifier: Apache-2.0
// Hands the tasks of a reprocessing that are not done to Slurm, as arrays of jobs, and behind them
// a job that checks. Slurm starts a task of a lost node again by itself; a task that was killed is
// run by the next submission. A task that runs twice writes the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/reprocess/reprocess_folder.hpp"

namespace l3 {

struct slurm_options {
  std::string script;               ///< empty: the one that is installed with the tools
  std::vector<std::string> options; ///< for sbatch, such as --partition=long
};

/// The jobs' numbers, those of the arrays and last that of the check. `more` are options for each
/// task. Throws command_error if sbatch is not there or refuses.
[[nodiscard]] std::vector<std::string> submit(const slurm_options& how,
                                              const reprocess_folder& folder,
                                              const std::vector<std::uint64_t>& tasks,
                                              const std::vector<std::string>& more);

} // namespace l3
