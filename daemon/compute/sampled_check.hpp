// SPDX-License-Identifier: Apache-2.0
// Checks that packed events unpack to their input, and that the selection decided right. The reader
// of packed events shares no code with the kernels. It rebuilds each fragment of an event, and
// every byte is compared with the frame's input. With a selection the CPU also computes the event
// again, whether it was kept or rejected, and must find the same summary and the same packed bytes.
// A hash of run, spill and number chooses the events: the same on any node, and independent of the
// senders' order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "selection/engine/engine.hpp"

namespace l3 {

class sampled_check {
public:
  /// Checks one event in `one_in`; 0 checks none. `reference` is a CPU engine with the same
  /// program, and a frame of one event without memory for input. It is null without a selection.
  sampled_check(std::uint32_t run, std::uint32_t one_in,
                std::unique_ptr<engine> reference = nullptr)
      : run_(run), one_in_(one_in), reference_(std::move(reference)) {}

  [[nodiscard]] bool chosen(const event_entry& event) const;

  /// Describes the first fault of an event of a computed frame; empty if it has none. Allocates
  /// only until it has seen the longest fragment.
  [[nodiscard]] std::string wrong_with(const frame& f, std::size_t event);

  /// Bytes that the reference takes.
  [[nodiscard]] std::size_t memory() const;

private:
  [[nodiscard]] std::string wrong_with_packed(const frame& f, std::size_t event);
  [[nodiscard]] std::string wrong_with_decision(const frame& f, std::size_t event);

  std::uint32_t run_;
  std::uint32_t one_in_;
  std::unique_ptr<engine> reference_;
  std::vector<std::byte> rebuilt_;
};

} // namespace l3
