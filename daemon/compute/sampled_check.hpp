// SPDX-License-Identifier: Apache-2.0
// Checks that packed events unpack to their input. The reader of packed events shares no code with
// the kernels. It rebuilds each fragment of an event, and every byte is compared with the frame's
// input. An event from which a line left out waveforms cannot be compared: the CPU computes it
// again and must produce the same bytes. A hash of run, spill and number chooses the events: the
// same on any node, and independent of the senders' order.
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
  /// program, and a frame of one event without memory for input. It is null if no line leaves out
  /// waveforms.
  sampled_check(std::uint32_t run, std::uint32_t one_in,
                std::unique_ptr<engine> reference = nullptr)
      : run_(run), one_in_(one_in), reference_(std::move(reference)) {}

  [[nodiscard]] bool chosen(const event_entry& event) const;

  /// Describes the first fault of a kept event of a computed frame; empty if it has none. Allocates
  /// only until it has seen the longest fragment.
  [[nodiscard]] std::string wrong_with(const frame& f, std::size_t event);

  /// Bytes that the reference takes.
  [[nodiscard]] std::size_t memory() const;

private:
  [[nodiscard]] std::string wrong_without_waveforms(const frame& f, std::size_t event);

  std::uint32_t run_;
  std::uint32_t one_in_;
  std::unique_ptr<engine> reference_;
  std::vector<std::byte> rebuilt_;
};

} // namespace l3
