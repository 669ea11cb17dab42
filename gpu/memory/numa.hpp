// SPDX-License-Identifier: Apache-2.0
// Which NUMA node a device hangs on, and staying there: memory that a thread touches first, and the
// thread itself, shall be near the device that copies. All of it is advice: where the machine says
// nothing, nothing changes.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace l3 {

/// "0-3,8" as numbers; empty if it is not of this form.
[[nodiscard]] std::vector<int> read_cpu_list(const std::string& text);

class numa_topology {
public:
  /// `root`: where the kernel shows its devices.
  explicit numa_topology(std::string root = "/sys") : root_(std::move(root)) {}

  /// The node of a device at a PCI address like 0000:3B:00.0; -1: unknown, or there is one node.
  [[nodiscard]] int node_of(const std::string& pci_address) const;
  /// Its processors; empty: unknown.
  [[nodiscard]] std::vector<int> processors_of(int node) const;

private:
  std::string root_;
};

/// Lets this thread run only on those of these processors on which it may; does nothing if there
/// are none: what the operator chose (taskset, CPUAffinity of the service manager) goes first.
void run_on(std::span<const int> processors);

/// While it lives, this thread and those that it starts run on these processors, as run_on() does.
/// The started threads stay there.
class stay_on {
public:
  explicit stay_on(std::span<const int> processors);
  ~stay_on();
  stay_on(const stay_on&) = delete;
  stay_on& operator=(const stay_on&) = delete;

private:
  std::vector<int> before_;
};

/// While it lives, this thread runs on a node and new memory comes from there, as long as there is
/// any. A node of -1 changes nothing.
class stay_on_node {
public:
  stay_on_node(int node, const numa_topology& topology);
  ~stay_on_node();
  stay_on_node(const stay_on_node&) = delete;
  stay_on_node& operator=(const stay_on_node&) = delete;

private:
  stay_on processors_;
  bool has_memory_; ///< a memory policy was set
};

} // namespace l3
