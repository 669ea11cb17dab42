// SPDX-License-Identifier: Apache-2.0
// A CPU engine that replaces a device in tests and fails like one, on the frames that its fault
// names: with an error, with an error followed by a failing restart, with a hang, also one before
// it has copied the input, with one wrong bit or decision, or permanently: dead, or lost to this
// process. It counts the started frames, so a test knows which frames fail. During a hang start()
// returns at once and the frame stays busy; the engine computes it when the hang is over.
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

  /// Offers the frames of `inner` as its own.
  faulty_engine(std::unique_ptr<engine> inner, const fault_plan& plan);

  void start(frame& f) override;
  [[nodiscard]] frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) override;
  [[nodiscard]] bool at_rest(const frame& f) const override;
  [[nodiscard]] bool reads_input(const frame& f) const override;
  [[nodiscard]] bool lost() const override { return lost_; }
  /// Ends a fault of the kind `from`, unless the device is dead or lost.
  [[nodiscard]] bool restart(frame& f) override;

private:
  struct fate {
    std::uint64_t number = 0; ///< start number, from 1
    bool hit = false;         ///< whether this frame fails
    bool computed = false;    ///< false during a hang
    bool lacks_queue = false; ///< its restart failed
    std::atomic<clock::time_point> busy_until = clock::time_point::min();
  };
  [[nodiscard]] bool hits(std::uint64_t number) const;
  [[nodiscard]] static bool flip_a_bit(frame& f, std::uint64_t number);
  [[nodiscard]] static bool reject_an_event(frame& f);

  std::unique_ptr<engine> inner_;
  fault_plan plan_;
  std::uint64_t started_ = 0;
  std::vector<fate> fates_; ///< by frame::index
  std::atomic<bool> cured_ = false;
  std::atomic<bool> lost_ = false;
  bool no_restart_ = false; ///< the next restart fails
  bool owed_ = false;       ///< a later frame gets the wrong bit or decision: this one had no data
};

} // namespace l3
