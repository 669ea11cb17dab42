// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/cost_table.hpp"

namespace l3 {

/// `koto-l3-bench sizing` and the same with `--way udp`; docs/sizing.md has the commands.
cost_table built_in_costs(bool udp) {
  const std::string where =
      "virtual machine, AMD EPYC, 2 processors with AVX-512, Debian 12, shared with other work, "
      "2026-11-23, pool (2 threads), selection built-in";
  if (udp)
    return {where,
            "udp",
            {{"ZMQbg/IO/0", false, false, 0.464, 0.0008},
             {"compute", true, true, 0.219, 0.0103},
             {"drain", false, false, 0.217, 0.0026},
             {"forwarder", false, false, 0.273, 0.0003},
             {"http", true, false, 0.0, 0.0022},
             {"koto-l3d", true, true, 0.238, 0.0074},
             {"link-watch", true, false, 0.012, 0.0},
             {"tcp", true, false, 0.053, 0.0035},
             {"udp", true, true, 0.335, 0.0409}}};
  return {where,
          "tcp",
          {{"ZMQbg/IO/0", false, false, 0.43, 0.001},
           {"compute", true, true, 0.191, 0.0157},
           {"drain", false, false, 0.341, 0.0017},
           {"forwarder", false, false, 0.24, 0.0006},
           {"http", true, false, 0.0, 0.0019},
           {"koto-l3d", true, true, 0.169, 0.0085},
           {"link-watch", true, false, 0.009, 0.0001},
           {"tcp", true, false, 0.25, 0.0424},
           {"udp", true, true, 0.001, 0.0008}}};
}

} // namespace l3
