// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench nvcomp` in a build without nvCOMP: it says so.
#include "tools/command.hpp"

namespace l3 {

void add_bench_nvcomp(CLI::App& program, command_body& run) {
  auto* c = program.add_subcommand("nvcomp", "nvCOMP's codecs on waveforms, within a device");
  c->allow_extras();
  c->callback([&run] {
    run = []() -> int {
      throw command_error("this program was built without nvCOMP (L3_NVCOMP)",
                          exit_missing_resource);
    };
  });
}

} // namespace l3
