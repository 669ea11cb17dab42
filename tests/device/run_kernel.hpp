// SPDX-License-Identifier: Apache-2.0
// Tests write the body of a kernel in PTX and look at what it leaves in its output.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/device/device_memory.hpp"
#include "tests/device/launch.hpp"
#include "tests/device/program.hpp"

namespace l3::ptx::test {

/// A kernel with registers of every kind (%p, %rs, %r, %rd, %f, %fd, eight each), `bytes` of shared
/// memory called `common`, and as parameters `out`, an address, and `n`, a number of 32 bits. %rd0
/// holds the address of the thread's own eight bytes of output, %r0 its index in the block, and
/// %rd7 the address of the whole output.
inline std::string kernel_text(const std::string& body, std::uint32_t bytes = 1024) {
  return ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"body.cu\"\n"
         ".global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
         ".visible .entry tested(\n\t.param .u64 out,\n\t.param .u32 n\n)\n.maxntid 256, 1, 1\n{\n"
         "\t.reg .pred %p<8>;\n\t.reg .b16 %rs<8>;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<8>;\n"
         "\t.reg .f32 %f<8>;\n\t.reg .f64 %fd<8>;\n\t.shared .align 16 .b8 common[" +
         std::to_string(bytes) +
         "];\n"
         "\tld.param.u64 %rd7, [out];\n\tmov.u32 %r0, %tid.x;\n\tmov.u32 %r1, %ctaid.x;\n"
         "\tmov.u32 %r2, %ntid.x;\n\tmad.lo.s32 %r3, %r1, %r2, %r0;\n\tmul.wide.u32 %rd0, %r3, 8;\n"
         "\tadd.s64 %rd0, %rd7, %rd0;\n\t.loc 1 7 3\n" +
         body + "\tret;\n}\n";
}

struct ran {
  std::vector<std::uint64_t> out; ///< eight bytes of each thread
  kernel_counts counts;
  std::vector<instruction_counts> executed;
};

struct launch_options {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;
  std::uint32_t n = 0;
  std::uint32_t shared_bytes = 1024;
  schedule how{};
  std::vector<std::size_t> left_out{}; ///< barriers, by their order in the code
};

/// Throws device_fault as grid_run does, and std::runtime_error as parse() does.
inline ran run_kernel(const std::string& body, const launch_options& o = {}) {
  const program text = parse(kernel_text(body, o.shared_bytes));
  device_memory memory;
  loaded_kernel loaded;
  loaded.of = &text;
  loaded.code = text.kernels.at(0);
  for (const auto& s : loaded.code.symbols) {
    const auto& variable = text.globals.at(0);
    const std::uint64_t at = memory.allocate(variable.bytes);
    std::memcpy(memory.find(at, variable.bytes)->bytes.data(), variable.initial.data(),
                variable.initial.size());
    loaded.code.constants.push_back({s.row, at});
  }
  std::size_t barriers = 0;
  for (std::size_t k = 0; k < loaded.code.code.size(); ++k) {
    if (!is_barrier(loaded.code.code[k])) continue;
    for (const std::size_t left_out : o.left_out) {
      if (left_out == barriers) leave_out(loaded, k);
    }
    ++barriers;
  }
  const std::size_t bytes = std::size_t{o.blocks} * o.threads * sizeof(std::uint64_t);
  const std::uint64_t out = memory.allocate(bytes);
  std::ranges::fill(memory.find(out, bytes)->bytes, std::byte{0});
  std::vector<std::byte> parameters(loaded.code.parameters_end);
  std::memcpy(parameters.data(), &out, sizeof out);
  std::memcpy(parameters.data() + sizeof out, &o.n, sizeof o.n);
  schedule how = o.how;
  if (how.most_instructions == 0) how.most_instructions = 10'000'000;
  grid_run grid(loaded, o.blocks, o.threads, parameters, memory, how);
  while (grid.step(how.most_instructions)) {
  }
  ran r{std::vector<std::uint64_t>(bytes / sizeof(std::uint64_t)), loaded.counts, loaded.executed};
  std::memcpy(r.out.data(), memory.find(out, bytes)->bytes.data(), bytes);
  return r;
}

} // namespace l3::ptx::test
