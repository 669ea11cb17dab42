// SPDX-License-Identifier: Apache-2.0
#include "daemon/placement.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "transport/format/number_list.hpp"

namespace l3 {
namespace {

std::string memory_from(int node) {
  return fmt::format("; {} from node {}",
                     prefer_memory_of(node) ? "memory comes" : "the system cannot give memory",
                     node);
}

std::string place_on_given(const std::vector<int>& wanted, const std::vector<int>& allowed,
                           const numa_topology& machine) {
  const std::vector<int> used = common(wanted, allowed);
  if (used.empty())
    throw std::runtime_error(
        fmt::format("node.processors = \"{}\": this process may run only on "
                    "{} (CPUAffinity= of its unit, taskset, its control group)",
                    show_number_list(wanted), show_number_list(allowed)));
  run_on(used);
  std::string text = fmt::format("all threads run on processors {}", show_number_list(used));
  if (used.size() < wanted.size())
    text += fmt::format(", because this process may not use {} of node.processors",
                        show_number_list(without(wanted, used)));
  const std::vector<int> nodes = machine.nodes();
  const auto node = std::ranges::find_if(
      nodes, [&](int n) { return without(used, machine.processors_of(n)).empty(); });
  return nodes.size() < 2 || node == nodes.end() ? text : text + memory_from(*node);
}

} // namespace

std::string place_threads(daemon_settings& s, const numa_topology& machine,
                          const find_interfaces& interfaces) {
  const std::vector<int> allowed = allowed_processors();
  const std::string any = show_number_list(allowed);
  if (!s.node.processors.empty()) return place_on_given(s.node.processors, allowed, machine);
  const std::size_t nodes = machine.nodes().size();
  if (nodes < 2) return fmt::format("one NUMA node, all threads run on processors {}", any);

  std::set<std::string> cards;
  std::size_t threads = 0;
  for (const auto& [bind, count] :
       {std::pair{s.udp.bind, s.udp.threads}, std::pair{s.tcp.bind, s.tcp.threads}}) {
    if (bind.empty()) continue;
    cards.merge(cards_of(machine.root(), interfaces(bind)));
    threads += count;
  }
  std::set<int> nodes_of_cards;
  std::vector<int> interrupted;
  for (const std::string& card : cards) {
    nodes_of_cards.insert(machine.node_of_card(card));
    std::ranges::copy(machine.interrupted_by(card), std::back_inserter(interrupted));
  }
  const int node = nodes_of_cards.size() == 1 ? *nodes_of_cards.begin() : -1;
  std::vector<int> near = common(allowed, machine.processors_of(node));
  if (near.empty())
    return fmt::format("{} NUMA nodes, and the network cards of udp.bind and tcp.bind are not on "
                       "one that this process may use: threads run on any of the processors {}; "
                       "node.processors can choose",
                       nodes, any);
  const std::vector<int> quiet = without(near, interrupted);
  const bool spares = quiet.size() >= threads && quiet.size() < near.size();
  if (spares) near = quiet;
  s.node.input = near;
  return fmt::format(
      "threads of input and output run on processors {} (NUMA node {} of {}{}), other "
      "threads on {}{}",
      show_number_list(near), node, fmt::join(cards, ", "),
      spares ? ", without those that serve its interrupts" : "", any, memory_from(node));
}

} // namespace l3
