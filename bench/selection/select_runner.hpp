// SPDX-License-Identifier: Apache-2.0
// The measured parts of the selection on any executor, for the measuring program. Parts are
// prepared, run and compared one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/measure.hpp"
#include "bench/selection/select_batch.hpp"
#include "selection/sequence/program.hpp"

namespace l3::bench {

enum class part_kind : std::uint8_t {
  copy,
  decode,      ///< only the measurement for packing
  algorithm,   ///< of the sequence; the first one also decodes
  alternative, ///< to one of them, with the same output
  selection,   ///< the whole sequence
  packing,     ///< the whole sequence, and packing of the kept events
};

struct select_part {
  part_kind kind;
  entrant what; ///< its `poison` sets the columns to their state before its turn
};

/// The expected outputs.
struct select_expected {
  using bytes = std::vector<std::byte>;
  bytes decoded;              ///< the columns after decoding only
  std::vector<bytes> by_step; ///< before the first algorithm, and after each
  bytes packed;
  std::uint32_t kept = 0; ///< number of events
};

struct select_runner {
  std::string where;
  std::uint32_t cores = 0; ///< number of working cores; 0: a device
  std::vector<select_part> parts;
  std::vector<std::shared_ptr<void>> in_use; ///< owns what the parts use
};

/// Computed by one core.
[[nodiscard]] select_expected expect_selection(const select_batch& batch,
                                               const selection_program& program);

// The arguments of these functions must outlive the runner.

/// 0 threads: one per processor.
[[nodiscard]] select_runner make_cpu_select_runner(std::uint32_t threads, const select_batch& batch,
                                                   const selection_program& program,
                                                   const select_expected& expected);

/// On the CUDA device.
[[nodiscard]] select_runner make_cuda_select_runner(const select_batch& batch,
                                                    const selection_program& program,
                                                    const select_expected& expected);

} // namespace l3::bench
