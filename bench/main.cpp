// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench WHAT`: the measurements of docs/performance.md, each beside a limit that is
// measured in the same run. A figure means something only beside such a limit.
#include <array>

#include "bench/codec/general_codecs.hpp"
#include "tools/command.hpp"
#include "tools/rehearsal/child_process.hpp"

namespace l3 {

// Each in the source of its name, `pack` and `unpack` in codec.cpp.
command_adder add_bench_pack, add_bench_unpack, add_bench_building, add_bench_codecs,
    add_bench_counts, add_bench_daemon, add_bench_decode, add_bench_device, add_bench_engine,
    add_bench_memory, add_bench_nvcomp, add_bench_pipeline, add_bench_receive, add_bench_seed,
    add_bench_select, add_bench_show, add_bench_sort, add_bench_ways;

namespace {

std::string what_is_left_out() {
  std::string text;
  for (const std::string& why : bench::codecs_left_out(bench::codec_set::fast))
    text += "pack and unpack leave out " + why + "\n";
  for (const std::string& why : bench::codecs_left_out(bench::codec_set::wide))
    text += "codecs leaves out " + why + "\n";
  if (!find_program("iperf3")) text += "pipeline leaves out its limit: iperf3 is not in PATH\n";
  return text;
}

} // namespace
} // namespace l3

int main(int argc, char** argv) {
  using namespace l3;
  constexpr std::array<command, 18> commands{{{"pack", add_bench_pack},
                                              {"unpack", add_bench_unpack},
                                              {"building", add_bench_building},
                                              {"codecs", add_bench_codecs},
                                              {"counts", add_bench_counts},
                                              {"daemon", add_bench_daemon},
                                              {"decode", add_bench_decode},
                                              {"device", add_bench_device},
                                              {"engine", add_bench_engine},
                                              {"memory", add_bench_memory},
                                              {"nvcomp", add_bench_nvcomp},
                                              {"pipeline", add_bench_pipeline},
                                              {"receive", add_bench_receive},
                                              {"seed", add_bench_seed},
                                              {"select", add_bench_select},
                                              {"show", add_bench_show},
                                              {"sort", add_bench_sort},
                                              {"ways", add_bench_ways}}};
  return run_program("koto-l3-bench",
                     "koto-l3-bench: measurements, each beside its limit, in one run", commands,
                     argc, argv, what_is_left_out);
}
