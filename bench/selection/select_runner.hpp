// SPDX-License-Identifier: Apache-2.0
// What is measured of the selection, the same on any executor for the program that measures: parts
// that are prepared, run and compared one by one.
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
  decode,    ///< measuring for packing, and nothing else
  algorithm, ///< of the sequence; the first decodes on its way
  selection, ///< the whole sequence
  packing,   ///< the whole sequence, and packing of what it keeps
};

struct select_part {
  part_kind kind;
  entrant what; ///< its `poison` puts the columns as they are when its turn comes
};

/// The right outputs.
struct select_expected {
  using bytes = std::vector<std::byte>;
  bytes decoded;              ///< the columns, by decoding alone
  std::vector<bytes> by_step; ///< before the first algorithm, and after each
  bytes packed;
  std::uint32_t kept = 0; ///< events
};

struct select_runner {
  std::string where;
  std::uint32_t cores = 0; ///< that work; 0: a device
  std::vector<select_part> parts;
  std::vector<std::shared_ptr<void>> in_use; ///< by the parts
};

/// By one core.
[[nodiscard]] select_expected expect_selection(const select_batch& batch,
                                               const selection_program& program);

// The arguments of these functions outlive the runner.

/// 0 threads: one per processor.
[[nodiscard]] select_runner make_cpu_select_runner(std::uint32_t threads, const select_batch& batch,
                                                   const selection_program& program,
                                                   const select_expected& expected);

/// On the CUDA device.
[[nodiscard]] select_runner make_cuda_select_runner(const select_batch& batch,
                                                    const selection_program& program,
                                                    const select_expected& expected);

} // namespace l3::bench
