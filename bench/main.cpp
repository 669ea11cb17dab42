// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench WHAT`: the measurements of docs/performance.md, each compared with a limit from
// the same run. A number is meaningful only beside such a limit.
#include <array>

#include "selection/engine/engine.hpp"
#include "tools/command_line.hpp"

namespace l3 {

// Each is in the source of its name; `pack` and `unpack` are in codec.cpp.
command_adder add_bench_pack, add_bench_unpack, add_bench_building, add_bench_codecs,
    add_bench_counts, add_bench_daemon, add_bench_decode, add_bench_device, add_bench_engine,
    add_bench_memory, add_bench_node, add_bench_receive, add_bench_select, add_bench_show,
    add_bench_sort;

} // namespace l3

int main(int argc, char** argv) {
  using namespace l3;
  constexpr std::array<command, 15> commands{{{"pack", add_bench_pack},
                                              {"unpack", add_bench_unpack},
                                              {"building", add_bench_building},
                                              {"codecs", add_bench_codecs},
                                              {"counts", add_bench_counts},
                                              {"daemon", add_bench_daemon},
                                              {"decode", add_bench_decode},
                                              {"device", add_bench_device},
                                              {"engine", add_bench_engine},
                                              {"memory", add_bench_memory},
                                              {"node", add_bench_node},
                                              {"receive", add_bench_receive},
                                              {"select", add_bench_select},
                                              {"show", add_bench_show},
                                              {"sort", add_bench_sort}}};
  prepare_driver();
  return run_program("koto-l3-bench",
                     "koto-l3-bench: measurements, each beside its limit, in one run", commands,
                     argc, argv);
}
