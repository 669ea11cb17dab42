// SPDX-License-Identifier: Apache-2.0
// Plans a sequence from the names of its algorithms: which algorithms run, in which order, and
// where each slot is in the arena of a frame. plan_sequence checks the wiring before anything runs:
// an algorithm may read a slot only if an earlier one writes it. A slot occupies memory from the
// step that writes it to the last step that reads it; slots that are not used at the same time
// share memory. All sizes follow from the configured limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/memory/buffer.hpp"
#include "selection/sequence/algorithm.hpp"

namespace l3 {

/// A slot without its type.
struct slot_info {
  std::string_view name;
  std::size_t (*bytes)(const batch_capacity&) = nullptr;
};

/// An algorithm without its type.
struct algorithm_info {
  std::string_view name;
  std::vector<slot_info> reads; ///< including the slots that it updates
  std::vector<slot_info> writes;
};

namespace sequence_details {

template <slot S>
std::size_t bytes_of(const batch_capacity& c) {
  return S::columns::bytes(S::rows(c));
}
template <slot... S>
std::vector<slot_info> infos(slot_list<S...>) {
  return {slot_info{S::name, &bytes_of<S>}...};
}

template <class A>
struct updates_of {
  using type = slot_list<>;
};
template <class A>
requires requires { typename A::updates; }
struct updates_of<A> {
  using type = typename A::updates;
};

} // namespace sequence_details

/// The slots that an algorithm updates; usually none.
template <algorithm A>
using updates_of = typename sequence_details::updates_of<A>::type;

template <algorithm A>
[[nodiscard]] algorithm_info info_of() {
  namespace d = sequence_details;
  algorithm_info info{A::name, d::infos(typename A::reads{}), d::infos(typename A::writes{})};
  for (const slot_info& s : d::infos(updates_of<A>{})) info.reads.push_back(s);
  return info;
}

struct sequence_plan {
  struct placed_slot {
    std::string_view name;
    std::size_t offset = 0; ///< in the arena
    std::size_t bytes = 0;
    std::size_t first_step = 0; ///< the step that writes the slot
    std::size_t last_step = 0;  ///< the last step that reads it
    bool handed_out = false;    ///< stored with the frame's results, not in the arena
  };

  std::vector<std::size_t> steps; ///< indices into the registry
  std::vector<placed_slot> slots; ///< in the order in which steps write them
  std::size_t bytes = 0;          ///< length of the arena

  [[nodiscard]] const placed_slot& at(std::string_view slot_name) const;
};

/// `registry` lists all algorithms. The slot `handed_out` is outside the arena, and some step must
/// write it. Throws std::runtime_error with the fault and its remedy.
[[nodiscard]] sequence_plan plan_sequence(std::span<const std::string> names,
                                          std::span<const algorithm_info> registry,
                                          const batch_capacity& capacity,
                                          std::string_view handed_out);

} // namespace l3
