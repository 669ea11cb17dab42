// SPDX-License-Identifier: Apache-2.0
// The fault executor: an engine on the CPU that stands in for a device and fails as a device may,
// when its plan says so: with an error, never to come to an end, with one wrong bit, or for good.
// It counts the frames that are started, so that a test knows which of them are hit.
// A hang leaves start() at once and the frame busy; what was asked for is computed when it is over.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "selection/engine/engine.hpp"

namespace l3 {

class faulty_engine final : public engine {
public:
  using clock = std::chrono::steady_clock;

  /// The frames are those of `inner`.
  faulty_engine(std::unique_ptr<engine> inner, const fault_plan& plan);

  void start(frame& f) override;
  [[nodiscard]] frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) override;
  [[nodiscard]] bool at_rest(const frame& f) const override;
  /// Ends a fault that lasts `from` a frame on, unless the device is dead.
  [[nodiscard]] bool restart(frame& f) override;

private:
  struct fate {
    std::uint64_t number = 0; ///< of the frame that was started, from 1
    bool hit = false;         ///< by the fault
    bool computed = false;
    std::atomic<clock::time_point> busy_until = clock::time_point::min();
  };
  [[nodiscard]] bool hits(std::uint64_t number) const;
  [[nodiscard]] static bool flip_a_bit(frame& f, std::uint64_t number);

  std::unique_ptr<engine> inner_;
  fault_plan plan_;
  std::uint64_t started_ = 0;
  std::vector<fate> fates_; ///< by frame
  std::atomic<bool> cured_ = false;
  bool owed_ = false; ///< a wrong bit, by a frame that had no packed event to put it in
};

} // namespace l3
