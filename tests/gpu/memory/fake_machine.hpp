// SPDX-License-Identifier: Apache-2.0
// A machine of files with two NUMA nodes: a device and the network card eth0 on the second one,
// which has the processor on which the test runs.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <sched.h>

#include "gpu/memory/numa.hpp"
#include "tests/tools/temporary_folder.hpp"

namespace l3::test {

struct fake_machine {
  fake_machine() {
    write("sys/bus/pci/devices/0000:3b:00.0/numa_node", "1\n");
    write("sys/bus/pci/devices/0000:3c:00.0/numa_node", "-1\n");
    write("sys/class/net/eth0/device/numa_node", "1\n");
    write("sys/devices/system/node/node0/cpulist", "0-1,4\n");
    write("sys/devices/system/node/node1/cpulist", std::to_string(here) + "\n");
  }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
  void interrupts(const std::string& card, const std::string& number,
                  const std::string& processors) const {
    write("sys/class/net/" + card + "/device/msi_irqs/" + number, "msix\n");
    write("proc/irq/" + number + "/effective_affinity_list", processors + "\n");
  }

  temporary_folder root;
  int here = sched_getcpu(); ///< a processor on which this test may run
  numa_topology topology{root.path()};
};

} // namespace l3::test
