// SPDX-License-Identifier: Apache-2.0
// Finds the NUMA node of a device and keeps threads there: memory that a thread touches first, and
// the thread itself, should be near the copying device. Everything is a hint: without information
// from the machine, nothing changes.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace l3 {

/// Parses "0-3,8" into numbers; empty for any other form.
[[nodiscard]] std::vector<int> read_cpu_list(const std::string& text);

class numa_topology {
public:
  /// `root`: where the kernel lists its devices.
  explicit numa_topology(std::string root = "/sys") : root_(std::move(root)) {}

  /// The node of a device at a PCI address like 0000:3B:00.0; -1 if unknown, or with one node.
  [[nodiscard]] int node_of(const std::string& pci_address) const;
  /// The processors of a node; empty if unknown.
  [[nodiscard]] std::vector<int> processors_of(int node) const;

private:
  std::string root_;
};

/// Restricts this thread to those of these processors on which it may already run. Does nothing if
/// there are none, because the operator's choice (taskset, CPUAffinity) has priority.
void run_on(std::span<const int> processors);

/// While it exists, this thread and threads that it starts run on these processors, as with
/// run_on(). The started threads stay there.
class stay_on {
public:
  explicit stay_on(std::span<const int> processors);
  ~stay_on();
  stay_on(const stay_on&) = delete;
  stay_on& operator=(const stay_on&) = delete;

private:
  std::vector<int> before_;
};

/// While it exists, this thread runs on a node, and new memory comes from there as long as it
/// lasts. A node of -1 changes nothing.
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
