// SPDX-License-Identifier: Apache-2.0
#include "selection/sequence/plan.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace l3 {
namespace {

std::string quoted(std::string_view name) { return '`' + std::string(name) + '`'; }

std::string listed(std::span<const algorithm_info> registry) {
  std::string names;
  for (const algorithm_info& a : registry)
    names += (names.empty() ? "" : ", ") + std::string(a.name);
  return names;
}

/// The algorithms that write a slot, for a message about what to add to the sequence.
std::string writers_of(std::string_view slot_name, std::span<const algorithm_info> registry) {
  std::string names;
  for (const algorithm_info& a : registry) {
    const bool writes = std::ranges::find(a.writes, slot_name, &slot_info::name) != a.writes.end();
    if (writes) names += (names.empty() ? "" : " or ") + quoted(a.name);
  }
  return names.empty() ? "nothing" : names;
}

std::size_t find_algorithm(std::string_view name, std::span<const algorithm_info> registry) {
  const auto found = std::ranges::find(registry, name, &algorithm_info::name);
  if (found == registry.end())
    throw std::runtime_error("sequence: there is no algorithm " + quoted(name) +
                             "; there are: " + listed(registry));
  return static_cast<std::size_t>(found - registry.begin());
}

/// In `slots`, which may be const.
auto find_slot(auto& slots, std::string_view name) {
  return std::ranges::find(slots, name, &sequence_plan::placed_slot::name);
}

/// Gives every slot the lowest place that no other slot uses during the same steps. The largest
/// slots come first, so that small ones fill the gaps.
void place(sequence_plan& plan) {
  std::vector<sequence_plan::placed_slot*> largest_first;
  for (auto& s : plan.slots)
    if (!s.handed_out) largest_first.push_back(&s);
  std::ranges::stable_sort(largest_first, std::greater(), &sequence_plan::placed_slot::bytes);
  std::vector<const sequence_plan::placed_slot*> placed;
  for (auto* const slot : largest_first) {
    auto& s = *slot;
    std::size_t at = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto* other : placed) {
        const bool at_once = s.first_step <= other->last_step && other->first_step <= s.last_step;
        const bool overlap = at < other->offset + other->bytes && other->offset < at + s.bytes;
        if (!at_once || !overlap) continue;
        at = round_up(other->offset + other->bytes, region::alignment);
        moved = true;
      }
    }
    s.offset = at;
    plan.bytes = std::max(plan.bytes, at + s.bytes);
    placed.push_back(&s);
  }
}

} // namespace

const sequence_plan::placed_slot& sequence_plan::at(std::string_view slot_name) const {
  const auto found = find_slot(slots, slot_name);
  if (found == slots.end()) throw std::logic_error("no slot " + quoted(slot_name) + " in the plan");
  return *found;
}

sequence_plan plan_sequence(std::span<const std::string> names,
                            std::span<const algorithm_info> registry,
                            const batch_capacity& capacity, std::string_view handed_out) {
  sequence_plan plan;
  for (std::size_t step = 0; step < names.size(); ++step) {
    plan.steps.push_back(find_algorithm(names[step], registry));
    const algorithm_info& a = registry[plan.steps.back()];
    for (const slot_info& s : a.reads) {
      const auto found = find_slot(plan.slots, s.name);
      if (found == plan.slots.end())
        throw std::runtime_error("sequence: " + quoted(a.name) + " reads " + quoted(s.name) +
                                 ", which no earlier step writes; " + writers_of(s.name, registry) +
                                 " does");
      found->last_step = step;
    }
    for (const slot_info& s : a.writes) {
      if (const auto found = find_slot(plan.slots, s.name); found != plan.slots.end())
        throw std::runtime_error(
            "sequence: " + quoted(a.name) + " writes " + quoted(s.name) + " a second time; " +
            quoted(registry[plan.steps[found->first_step]].name) + " did before");
      plan.slots.push_back({s.name, 0, s.bytes(capacity), step, step, s.name == handed_out});
    }
  }
  if (find_slot(plan.slots, handed_out) == plan.slots.end())
    throw std::runtime_error("sequence: nothing writes " + quoted(handed_out) + "; " +
                             writers_of(handed_out, registry) + " does");
  place(plan);
  return plan;
}

} // namespace l3
