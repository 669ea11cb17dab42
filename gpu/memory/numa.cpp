// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/numa.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/format/number_list.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;

constexpr int most_processors = CPU_SETSIZE;
constexpr int most_nodes = 64;
constexpr std::size_t longest_line = 4096;

/// Returns nothing for a longer line, because its last number may be cut.
std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string text(longest_line, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  const std::size_t end = text.find('\n');
  return end == text.npos && text.size() == longest_line ? "" : text.substr(0, end);
}

/// The number in the text, which is nothing else; -1 if it is not in 0..most_nodes - 1.
int node_in(const std::string& text) {
  int node = -1;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, node);
  return error == std::errc{} && end == last && node >= 0 && node < most_nodes ? node : -1;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename());
  return names;
}

void set_processors(std::span<const int> processors) {
  if (processors.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int p : processors) CPU_SET(p, &set);
  static_cast<void>(sched_setaffinity(0, sizeof set, &set)); // or the thread runs on any processor
}

bool set_policy(int policy, unsigned long nodes) {
  return syscall(SYS_set_mempolicy, policy, nodes == 0 ? nullptr : &nodes, most_nodes + 1) == 0;
}

} // namespace

std::vector<int> numa_topology::nodes() const {
  constexpr std::string_view prefix = "node";
  std::vector<int> found;
  for (const std::string& name : names_in(root_ / "sys/devices/system/node"))
    if (const int node = name.starts_with(prefix) ? node_in(name.substr(prefix.size())) : -1;
        node >= 0)
      found.push_back(node);
  return found;
}

int numa_topology::node_of(const std::string& pci_address) const {
  std::string address = pci_address;
  std::ranges::transform(address, address.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return node_in(first_line(root_ / "sys/bus/pci/devices" / address / "numa_node"));
}

int numa_topology::node_of_card(const std::string& card) const {
  return node_in(first_line(root_ / "sys/class/net" / card / "device/numa_node"));
}

std::vector<int> numa_topology::interrupted_by(const std::string& card) const {
  std::vector<int> found;
  for (const std::string& number : names_in(root_ / "sys/class/net" / card / "device/msi_irqs")) {
    const std::string list = first_line(root_ / "proc/irq" / number / "effective_affinity_list");
    std::ranges::copy(read_number_list(list, most_processors - 1), std::back_inserter(found));
  }
  return found;
}

std::vector<int> numa_topology::processors_of(int node) const {
  if (node < 0) return {};
  const std::string folder = "sys/devices/system/node/node" + std::to_string(node);
  return read_number_list(first_line(root_ / folder / "cpulist"), most_processors - 1);
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return found;
  for (int p = 0; p < most_processors; ++p)
    if (CPU_ISSET(p, &set)) found.push_back(p);
  return found;
}

std::vector<int> common(std::span<const int> some, std::span<const int> others) {
  std::vector<int> found;
  for (const int p : some)
    if (std::ranges::find(others, p) != others.end()) found.push_back(p);
  return found;
}

std::vector<int> without(std::span<const int> some, std::span<const int> others) {
  std::vector<int> found(some.begin(), some.end());
  std::erase_if(found, [&](int p) { return std::ranges::find(others, p) != others.end(); });
  return found;
}

void run_on(std::span<const int> processors) {
  set_processors(common(allowed_processors(), processors));
}

bool prefer_memory_of(int node) { return set_policy(MPOL_PREFERRED, 1UL << node); }

stay_on::stay_on(std::span<const int> processors) : before_(allowed_processors()) {
  run_on(processors);
}

stay_on::~stay_on() { set_processors(before_); }

stay_on_node::stay_on_node(int node, const numa_topology& topology)
    : processors_(topology.processors_of(node)) {
  if (topology.processors_of(node).empty()) return;
  int policy = 0;
  if (syscall(SYS_get_mempolicy, &policy, &nodes_before_, most_nodes + 1, nullptr, 0) == 0 &&
      prefer_memory_of(node))
    policy_before_ = policy;
}

stay_on_node::~stay_on_node() {
  if (policy_before_ >= 0) static_cast<void>(set_policy(policy_before_, nodes_before_));
}

} // namespace l3
