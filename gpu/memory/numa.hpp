// SPDX-License-Identifier: Apache-2.0
// Finds the NUMA node of a device and keeps threads there: memory that a thread touches first, and
// the thread itself, should be near the copying device. Everything is a hint: without information
// from the machine, nothing changes.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace l3 {

class numa_topology {
public:
  /// `root`: contains proc and sys.
  explicit numa_topology(std::filesystem::path root = "/") : root_(std::move(root)) {}

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::vector<int> nodes() const; ///< in any order; empty if unknown
  /// The node of a device at a PCI address like 0000:3B:00.0; -1 if unknown, or with one node.
  [[nodiscard]] int node_of(const std::string& pci_address) const;
  /// The same for a network card like eth0.
  [[nodiscard]] int node_of_card(const std::string& card) const;
  /// The processors that serve the interrupts of a network card; empty if unknown.
  [[nodiscard]] std::vector<int> interrupted_by(const std::string& card) const;
  /// The processors of a node; empty if unknown.
  [[nodiscard]] std::vector<int> processors_of(int node) const;

private:
  std::filesystem::path root_;
};

/// The processors on which this thread may run, ascending.
[[nodiscard]] std::vector<int> allowed_processors();
/// The numbers of `some` that are in `others` too; and those that are not.
[[nodiscard]] std::vector<int> common(std::span<const int> some, std::span<const int> others);
[[nodiscard]] std::vector<int> without(std::span<const int> some, std::span<const int> others);

/// Restricts this thread, and threads that it starts, to those of these processors on which it may
/// already run. If it may run on none of them, nothing changes: the operator's choice (taskset,
/// CPUAffinity) has priority.
void run_on(std::span<const int> processors);

/// New memory of this thread, and of threads that it starts, comes from this node as long as it
/// lasts. Returns false if the system forbids it: memory then comes from anywhere.
bool prefer_memory_of(int node);

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

/// While it exists, this thread runs on a node, and its new memory comes from there, as with
/// run_on() and prefer_memory_of(). A node of -1 changes nothing.
class stay_on_node {
public:
  stay_on_node(int node, const numa_topology& topology);
  ~stay_on_node();
  stay_on_node(const stay_on_node&) = delete;
  stay_on_node& operator=(const stay_on_node&) = delete;

private:
  stay_on processors_;
  int policy_before_ = -1; ///< of this thread's memory; -1: it did not change
  unsigned long nodes_before_ = 0;
};

} // namespace l3
