// SPDX-License-Identifier: Apache-2.0
// The inside of a grid_run: blocks, their warps, and groups of lanes that are at the same place of
// the program. launch.cpp chooses who goes on, warp.cpp executes, access.cpp reaches into memory.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/device/launch.hpp"

namespace l3::ptx {

enum class lane_state : std::uint8_t { ready, at_block_barrier, at_exchange };

/// Lanes of a warp at the same instruction.
struct lane_group {
  std::uint32_t lanes = 0;
  std::uint32_t at = 0; ///< the next instruction, or the one at which they wait
  lane_state state = lane_state::ready;
};

struct warp {
  std::uint32_t first_thread = 0; ///< in its block
  std::uint32_t alive = 0;        ///< lanes that have not ended
  std::vector<lane_group> groups;
  std::vector<std::uint64_t> rows;
  std::uint64_t in_a_row = 0; ///< instructions of one group while another was ready, too

  // The order of what its lanes did: see moment.
  std::array<std::uint32_t, warp_lanes> clock{};
  std::array<std::array<std::uint32_t, warp_lanes>, warp_lanes> known{}; ///< [of lane][about lane]
};

struct block_state {
  std::uint32_t index = 0;   ///< in the grid
  std::uint32_t id = 0;      ///< among all blocks of all launches
  std::uint32_t alive = 0;   ///< threads
  std::uint32_t waiting = 0; ///< at the barrier of the block
  std::vector<warp> warps;
  std::vector<std::byte> shared;
  access_log shared_log{0};
  std::vector<std::uint32_t> barrier_clock; ///< by thread: what it did before is ordered for all
};

class grid_run::machine {
public:
  machine(loaded_kernel& what, std::uint32_t blocks, std::uint32_t threads,
          std::vector<std::byte> parameters, device_memory& memory, const schedule& how);

  bool step(std::uint64_t instructions);

private:
  // launch.cpp
  void begin_blocks();
  void begin_block(block_state& b, std::uint32_t index);
  std::uint64_t run_some_block(std::uint64_t most);
  lane_group* choose_group(warp& w);
  void split_at_random(warp& w, std::size_t group);
  [[noreturn]] void deadlock() const;

  // warp.cpp
  std::uint64_t run_group(block_state& b, warp& w, std::size_t group, std::uint64_t most);
  [[nodiscard]] std::uint32_t guarded(const warp& w, const instruction& i,
                                      std::uint32_t lanes) const;
  void branch(warp& w, std::size_t group, const instruction& i, std::uint32_t taken);
  void end_lanes(block_state& b, warp& w, std::size_t group, std::uint32_t lanes);
  void reach_barrier(block_state& b, warp& w, std::size_t group, std::uint32_t lanes);
  void open_barrier(block_state& b);
  bool reach_exchange(block_state& b, warp& w, std::size_t group, std::uint32_t lanes);
  void reconsider_exchanges(block_state& b, warp& w);
  void exchange(block_state& b, warp& w, const instruction& i, std::uint32_t lanes);
  void shuffle(block_state& b, warp& w, const instruction& i, std::uint32_t lanes);
  void order(warp& w, std::uint32_t lanes);
  void merge(warp& w);
  [[nodiscard]] std::uint32_t mask_of(const warp& w, const instruction& i,
                                      std::uint32_t lane) const;

  // access.cpp
  void touch_memory(block_state& b, warp& w, const instruction& i, std::uint32_t lanes);
  void touch(block_state& b, warp& w, const instruction& i, std::uint32_t lane,
             std::uint64_t address, memory_space space);
  void move_elements(warp& w, const instruction& i, std::uint32_t lane, std::byte* memory);
  void watch(block_state& b, const warp& w, const instruction& i, std::uint32_t lane,
             access_log& log, std::uint64_t begin, const std::byte* memory, bool is_shared);
  [[nodiscard]] bool is_ordered(moment before, const block_state& b, const warp& w,
                                std::uint32_t lane) const;
  [[nodiscard]] bool changes(const warp& w, const instruction& i, std::uint32_t lane,
                             const std::byte* memory) const;
  void count_requests(const warp& w, const instruction& i, std::uint32_t lanes);

  [[nodiscard]] std::uint64_t* row(warp& w, std::uint32_t number) const {
    return w.rows.data() + std::size_t{number} * warp_lanes;
  }
  [[nodiscard]] const std::uint64_t* row(const warp& w, std::uint32_t number) const {
    return w.rows.data() + std::size_t{number} * warp_lanes;
  }
  [[noreturn]] void fault(const block_state& b, std::uint32_t thread, const instruction& i,
                          const std::string& what) const;
  [[nodiscard]] std::string place(const instruction& i) const;

  loaded_kernel& what_;
  const std::vector<instruction>& code_;
  std::uint32_t blocks_;
  std::uint32_t threads_;
  std::vector<std::byte> parameters_;
  device_memory& memory_;
  schedule how_;
  std::mt19937_64 random_;
  std::uint32_t first_id_; ///< of the blocks of this launch
  std::uint32_t next_block_ = 0;
  std::vector<std::unique_ptr<block_state>> resident_;
  std::vector<std::unique_ptr<block_state>> unused_;
  std::size_t turn_ = 0;   ///< the resident block whose turn it is
  std::uint64_t done_ = 0; ///< instructions of this launch
};

/// Calls f(lane) for each lane of a mask.
template <class F>
void for_each_lane(std::uint32_t lanes, F&& f) {
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

} // namespace l3::ptx
