// SPDX-License-Identifier: Apache-2.0
// Checks that packed events unpack to their input: the reader of packed events, which shares no
// code with the kernels, rebuilds each fragment of an event, and every byte is compared with the
// frame's input. A hash of run, spill and number chooses the events: the same on any node, and out
// of step with any sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/memory/frame.hpp"

namespace l3 {

class sampled_check {
public:
  /// Checks one event in `one_in`; 0: none.
  sampled_check(std::uint32_t run, std::uint32_t one_in) : run_(run), one_in_(one_in) {}

  [[nodiscard]] bool chosen(const event_entry& event) const;

  /// The first fault of a kept event of a computed frame; empty if there is none. Allocates only
  /// until it has seen the longest fragment.
  [[nodiscard]] std::string wrong_with(const frame& f, std::size_t event);

private:
  std::uint32_t run_;
  std::uint32_t one_in_;
  std::vector<std::byte> rebuilt_;
};

} // namespace l3
