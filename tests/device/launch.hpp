// SPDX-License-Identifier: Apache-2.0
// Executes a grid of blocks of one kernel, instruction by instruction. Each lane has its own place
// in the program; lanes of a warp at the same place go together. Two schedules: `converged` keeps a
// warp together as far as it can and runs one block after the other, as is good for counting;
// `random` lets lanes, warps and blocks drift apart as a seed says. In both, memory is sequentially
// consistent. A fault throws device_fault, and says where.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/device/device_memory.hpp"
#include "tests/device/fault.hpp"
#include "tests/device/program.hpp"

namespace l3::ptx {

struct schedule {
  bool is_random = false;
  std::uint64_t seed = 0;
  std::uint32_t resident_blocks = 1;   ///< at a time
  std::uint64_t most_instructions = 0; ///< of one launch: beyond is a fault; 0: no limit
};

/// Of a kernel, over all its launches. An instruction counts once for each group of lanes that
/// executes it together; only the converged schedule gives figures that mean something.
struct kernel_counts {
  std::uint64_t launches = 0;
  std::uint64_t blocks = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t lane_instructions = 0;
  std::uint64_t global_requests = 0;
  std::uint64_t global_sectors = 0; ///< of 32 bytes
  std::uint64_t shared_requests = 0;
  std::uint64_t shared_wavefronts = 0;       ///< by bank conflicts
  std::uint64_t shared_wavefronts_least = 0; ///< if there were none
  std::uint64_t barriers = 0;                ///< of warps that reached one of the block

  kernel_counts& operator+=(const kernel_counts& c) {
    launches += c.launches;
    blocks += c.blocks;
    warp_instructions += c.warp_instructions;
    lane_instructions += c.lane_instructions;
    global_requests += c.global_requests;
    global_sectors += c.global_sectors;
    shared_requests += c.shared_requests;
    shared_wavefronts += c.shared_wavefronts;
    shared_wavefronts_least += c.shared_wavefronts_least;
    barriers += c.barriers;
    return *this;
  }
};

/// Of one instruction, over all launches.
struct instruction_counts {
  std::uint64_t times = 0; ///< once for each group of lanes
  std::uint64_t shared_wavefronts = 0;
  std::uint64_t shared_wavefronts_least = 0;
};

/// A kernel with what was seen of it.
struct loaded_kernel {
  const program* of = nullptr;
  kernel code;
  kernel_counts counts;
  std::vector<instruction_counts> executed; ///< by instruction
};

class grid_run {
public:
  /// `parameters`: the argument block, laid out as the kernel says. All must outlive the run.
  grid_run(loaded_kernel& what, std::uint32_t blocks, std::uint32_t threads,
           std::vector<std::byte> parameters, device_memory& memory, const schedule& how);
  ~grid_run();
  grid_run(const grid_run&) = delete;
  grid_run& operator=(const grid_run&) = delete;

  /// Goes on for about so many instructions. False: all blocks have ended.
  [[nodiscard]] bool step(std::uint64_t instructions);

private:
  class machine;
  std::unique_ptr<machine> machine_;
};

/// FILE:LINE
[[nodiscard]] std::string place_of(const program& p, const source_line& at);

[[nodiscard]] inline bool is_barrier(const instruction& i) {
  return i.what == action::block_barrier || i.what == action::warp_barrier;
}
/// The barrier at this place among the instructions of a kernel is left out: for tests that want to
/// see that it is needed.
void leave_out(loaded_kernel& of, std::size_t instruction);

} // namespace l3::ptx
