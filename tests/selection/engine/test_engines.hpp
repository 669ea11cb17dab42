// SPDX-License-Identifier: Apache-2.0
// The engines that a test chooses from: those of the product, and two that only tests have.
#pragma once

#include <cstdint>
#include <memory>

#include "selection/engine/engine.hpp"

namespace l3::test {

/// Its executor runs blocks and items in random order.
[[nodiscard]] std::unique_ptr<engine> shuffled_engine(const engine_limits& limits,
                                                      const selection_program* program);
/// Its executor has a thread for each lane.
[[nodiscard]] std::unique_ptr<engine> threaded_engine(const engine_limits& limits,
                                                      const selection_program* program);

/// Its device is imagined (stream_queue.hpp).
[[nodiscard]] std::unique_ptr<engine> streamed_engine(const engine_limits& limits,
                                                      const selection_program* program);

class chosen_engine {
public:
  using maker = decltype(&shuffled_engine);

  chosen_engine(maker other) : make_(other) {}
  chosen_engine(const compute_settings& where) : where_(where) {}
  chosen_engine(backend where, std::uint16_t threads) : where_{where, threads} {}

  [[nodiscard]] std::unique_ptr<engine> make(const engine_limits& limits,
                                             const selection_program* program) const {
    return make_ != nullptr ? make_(limits, program) : make_engine(where_, limits, program);
  }

private:
  maker make_ = nullptr;
  compute_settings where_;
};

} // namespace l3::test
