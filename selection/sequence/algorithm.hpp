// SPDX-License-Identifier: Apache-2.0
// An algorithm of the selection is a kernel (gpu/executors/block.hpp) that declares its name, the
// unit of its blocks, and the slots that it reads and writes. Its call operator takes the block,
// the shared memory, the frame, then a view of each slot in the order of its lists: read-only views
// of the slots that it reads, then views of those that it writes.
//
//   struct find_clusters {
//     static constexpr std::string_view name = "find_clusters";
//     static constexpr blocks_for run_for = blocks_for::event;
//     using reads = slot_list<pulses, board_signals>;
//     using writes = slot_list<clusters, calorimeter>; // `updates` is optional
//
//     static constexpr std::uint32_t width = 128;
//     struct shared { … };
//     template <block B>
//     L3_FN void operator()(const B&, shared&, const selection_frame&,
//                           const pulses::columns::const_view&, …,
//                           const calorimeter::columns::view&) const;
//
//     /// The promise that the output breaks; nullptr if it keeps all. For tests, on the host.
//     static const char* broken_promise(const selection_frame&,
//                                       const pulses::columns::const_view&, …);
//   };
//
// docs/adding-an-algorithm.md explains one from the idea to its test.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "gpu/decode/packet.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/sequence/histogram_view.hpp"
#include "selection/sequence/tables.hpp"
#include "transport/format/batch_capacity.hpp"

namespace l3 {

/// A slot: columns with a name, and their number of rows for a batch.
template <class S>
concept slot = requires(const batch_capacity& c) {
  typename S::columns::view;
  { S::name } -> std::convertible_to<std::string_view>;
  { S::rows(c) } -> std::same_as<std::uint32_t>;
};

template <slot... S>
struct slot_list {};

/// The unit for which an algorithm has a block.
enum class blocks_for : std::uint8_t {
  board,        ///< each board of the batch
  event,        ///< each event
  readout_board ///< each board of the readout and each spill of the batch: for histograms
};

/// Data that every algorithm can read besides its slots.
struct selection_frame {
  batch_view batch;
  selection_tables tables;
  frame_columns packing;          ///< the columns of packing; the decision goes to events.accepted
  histogram_view histograms = {}; ///< empty without histograms
};

template <class A>
concept algorithm = requires {
  { A::name } -> std::convertible_to<std::string_view>;
  { A::run_for } -> std::convertible_to<blocks_for>;
  typename A::reads;
  typename A::writes;
  typename A::shared;
  { A::width } -> std::convertible_to<std::uint32_t>;
};

} // namespace l3
