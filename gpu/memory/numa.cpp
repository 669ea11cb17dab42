// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/numa.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace l3 {
namespace {

constexpr int most_processors = CPU_SETSIZE;
constexpr int most_nodes = 64;
constexpr std::size_t longest_line = 4096;

/// Returns nothing for a longer line, because its last number may be cut.
std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string text(longest_line, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  const std::size_t end = text.find('\n');
  return end == text.npos && text.size() == longest_line ? "" : text.substr(0, end);
}

/// Removes and returns an integer at the start of the text; -1 if there is none.
int take_number(std::string_view& text) {
  int n = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || n < 0) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return n;
}

std::vector<int> processors_now() {
  cpu_set_t set;
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return found;
  for (int p = 0; p < most_processors; ++p)
    if (CPU_ISSET(p, &set)) found.push_back(p);
  return found;
}

void set_processors(std::span<const int> processors) {
  if (processors.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int p : processors) CPU_SET(p, &set);
  static_cast<void>(sched_setaffinity(0, sizeof set, &set)); // or the thread runs on any processor
}

/// Fails if there is one node, or the system forbids it: memory then comes from anywhere.
void prefer_memory_of(int node) {
  const unsigned long nodes = node < 0 ? 0 : 1UL << node;
  static_cast<void>(syscall(SYS_set_mempolicy, node < 0 ? MPOL_DEFAULT : MPOL_PREFERRED,
                            node < 0 ? nullptr : &nodes, node < 0 ? 0 : most_nodes));
}

} // namespace

std::vector<int> read_cpu_list(const std::string& text) {
  std::vector<int> found;
  std::string_view rest(text);
  while (!rest.empty()) {
    const int first = take_number(rest);
    int last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest);
    }
    if (first < 0 || last < first || last >= most_processors) return {};
    for (int p = first; p <= last; ++p) found.push_back(p);
    if (rest.empty()) break;
    if (!rest.starts_with(',') || rest.size() == 1) return {};
    rest.remove_prefix(1);
  }
  return found;
}

int numa_topology::node_of(const std::string& pci_address) const {
  std::string address = pci_address;
  std::ranges::transform(address, address.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string text = first_line(root_ + "/bus/pci/devices/" + address + "/numa_node");
  std::string_view rest(text);
  const int node = take_number(rest);
  return rest.empty() && node < most_nodes ? node : -1;
}

std::vector<int> numa_topology::processors_of(int node) const {
  if (node < 0) return {};
  return read_cpu_list(
      first_line(root_ + "/devices/system/node/node" + std::to_string(node) + "/cpulist"));
}

void run_on(std::span<const int> processors) {
  std::vector<int> both;
  for (const int p : processors_now())
    if (std::ranges::find(processors, p) != processors.end()) both.push_back(p);
  set_processors(both);
}

stay_on::stay_on(std::span<const int> processors) : before_(processors_now()) {
  run_on(processors);
}

stay_on::~stay_on() { set_processors(before_); }

stay_on_node::stay_on_node(int node, const numa_topology& topology)
    : processors_(topology.processors_of(node)),
      has_memory_(!topology.processors_of(node).empty()) {
  if (has_memory_) prefer_memory_of(node);
}

stay_on_node::~stay_on_node() {
  if (has_memory_) prefer_memory_of(-1);
}

} // namespace l3
