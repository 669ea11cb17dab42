// SPDX-License-Identifier: Apache-2.0
// A kernel as the interpreter keeps it: the PTX that nvcc wrote, decoded once. Each register,
// constant and special register is a row of 32 words of 64 bits, a word for each lane of a warp, so
// that an instruction finds all its operands in the same way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace l3::ptx {

constexpr std::uint32_t warp_lanes = 32;
constexpr std::uint32_t no_row = ~std::uint32_t{0};

/// What the warp does with an instruction. All that is neither control nor memory is `compute`.
enum class action : std::uint8_t {
  compute,
  load,
  store,
  atomic,
  branch,
  exit,
  trap,
  block_barrier,
  warp_barrier,
  shuffle,
  vote,
  warp_reduction,
  active_mask,
  nothing, ///< fences and pauses: memory is sequentially consistent here
};

enum class memory_space : std::uint8_t { generic, global, shared, parameters };
enum class atomic_operation : std::uint8_t { add, min, max, and_, or_, xor_, exchange, compare };
enum class vote_kind : std::uint8_t { all, any, ballot };
enum class shuffle_kind : std::uint8_t { up, down, across, index };
enum class reduction : std::uint8_t { none, and_, or_, count };
/// Over the lanes of a warp: how two values become one.
using join_function = std::uint32_t (*)(std::uint32_t, std::uint32_t);

struct instruction;
/// Computes one instruction for the lanes of a mask. `rows`: those of the warp.
using compute_function = void (*)(const instruction&, std::uint64_t* rows, std::uint32_t lanes);

/// A line of device code.
struct source_line {
  std::uint32_t file = 0; ///< in program::files
  std::uint32_t line = 0;
};

struct instruction {
  action what = action::compute;
  compute_function compute = nullptr;
  std::uint32_t guard = no_row; ///< row of the predicate that lets lanes take part
  bool guard_negated = false;
  std::uint32_t to = no_row;
  std::array<std::uint32_t, 4> from{no_row, no_row, no_row, no_row};

  std::uint32_t second_to = no_row; ///< the predicate of a shuffle
  bool from_negated = false;        ///< the predicate of a vote or a barrier
  std::uint32_t target = 0;         ///< of a branch

  // Of an access to memory: `elements` of `bytes` each, from the address in from[0] plus `offset`.
  memory_space space = memory_space::generic;
  std::uint8_t bytes = 0;
  std::uint8_t elements = 1;
  bool sign_extended = false;
  bool is_strong = false;       ///< atomic, relaxed or volatile: such accesses do not race
  bool is_non_coherent = false; ///< ld.global.nc: the kernel may not write there
  std::int64_t offset = 0;
  std::array<std::uint32_t, 4> data{no_row, no_row, no_row, no_row};

  atomic_operation atomic = atomic_operation::add;
  bool is_signed = false; ///< of an atomic minimum or maximum
  vote_kind vote = vote_kind::all;
  shuffle_kind shuffle = shuffle_kind::index;
  reduction reduce = reduction::none;
  join_function join = nullptr;   ///< of a reduction over a warp
  bool goes_on_with_last = false; ///< a further step of the instruction before it

  source_line line;
  source_line caller; ///< where the function of `line` was inlined; else that line
  std::string text;   ///< as it stands in the PTX
};

/// A row that holds the same in every lane.
struct constant {
  std::uint32_t row = 0;
  std::uint64_t value = 0;
};

/// What the warp must fill in for itself.
enum class special : std::uint8_t {
  tid_x,
  ntid_x,
  ctaid_x,
  nctaid_x,
  lane_id,
  lanemask_lt,
  lanemask_le,
  lanemask_eq,
  lanemask_ge,
  lanemask_gt,
  warp_id
};
struct special_row {
  std::uint32_t row = 0;
  special what = special::tid_x;
};
/// A constant that is the address of a variable in global memory, known when the program is loaded.
struct symbol_row {
  std::uint32_t row = 0;
  std::string symbol;
};

struct kernel {
  std::string name;
  std::vector<instruction> code;
  std::uint32_t rows = 0;
  std::vector<constant> constants;
  std::vector<special_row> specials;
  std::vector<symbol_row> symbols;
  std::vector<std::uint32_t> parameter_offsets;
  std::vector<std::uint32_t> parameter_bytes;
  std::uint32_t parameters_end = 0;
  std::uint32_t shared_bytes = 0;
  std::uint32_t widest_block = 1024; ///< .maxntid
};

/// A variable in global memory.
struct global_variable {
  std::string name;
  std::uint64_t bytes = 0;
  std::vector<std::byte> initial; ///< shorter than `bytes`: zeros follow
};

struct program {
  std::string target; ///< such as sm_90
  std::vector<std::string> files;
  std::vector<kernel> kernels;
  std::vector<global_variable> globals;
};

/// Shared memory begins here in its own address space, so that a null pointer lies outside.
constexpr std::uint32_t shared_begin = 1024;

/// In the generic address space shared memory begins here. It lies apart from all host memory and
/// from all device memory.
constexpr std::uint64_t shared_window = std::uint64_t{1} << 44;

/// Decodes PTX as nvcc writes it. Throws std::runtime_error that names the line if there is
/// anything in it that the interpreter does not know.
[[nodiscard]] program parse(std::string_view text);

} // namespace l3::ptx
