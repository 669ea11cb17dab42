// SPDX-License-Identifier: Apache-2.0
// The check that what was packed can be unpacked to what came in: the reader of packed events,
// which shares no code with the kernels, rebuilds each fragment of an event, and every byte is
// compared with the frame's input. Which events are checked is a hash of run, spill and number: the
// same on any node, and nothing that a sender could keep step with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/memory/frame.hpp"

namespace l3 {

class sampled_check {
public:
  /// One event in so many; 0: none.
  sampled_check(std::uint32_t run, std::uint32_t one_in) : run_(run), one_in_(one_in) {}

  [[nodiscard]] bool chosen(const event_entry& event) const;

  /// What is wrong with a kept event of a computed frame; empty if nothing is. Allocates only while
  /// it has not seen the longest fragment.
  [[nodiscard]] std::string wrong_with(const frame& f, std::size_t event);

private:
  std::uint32_t run_;
  std::uint32_t one_in_;
  std::vector<std::byte> rebuilt_;
};

} // namespace l3
