// SPDX-License-Identifier: Apache-2.0
// Combines the engines of several devices. Consecutive frames go to different devices, and each
// device is watched, bypassed and tried again by itself (supervised_engine). With one device, or on
// the CPU, it only forwards to that engine.
#pragma once

#include <memory>
#include <vector>

#include "daemon/compute/supervised_engine.hpp"
#include "selection/engine/engine.hpp"
#include "transport/accounting/counters.hpp"

namespace l3 {

class spread_engine final : public engine {
public:
  /// Needs at least one engine. Engine d of n gets the frames whose index is d modulo n.
  explicit spread_engine(std::vector<std::unique_ptr<supervised_engine>> devices);

  void start(frame& f) override { of(f).start(f); }
  [[nodiscard]] frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) override {
    return of(f).wait_for(f, limit);
  }
  [[nodiscard]] bool at_rest(const frame& f) const override { return of(f).at_rest(f); }
  [[nodiscard]] bool restart(frame& f) override { return of(f).restart(f); }
  [[nodiscard]] bool reads_input(const frame& f) const override { return of(f).reads_input(f); }

  // Any thread. Counters are sums over all devices; a flag is true if it is true for any device.
  [[nodiscard]] engine_counters counters() const;
  [[nodiscard]] bool lost() const override;
  [[nodiscard]] bool bypassed() const;
  [[nodiscard]] bool wrong_results() const;
  [[nodiscard]] bool hangs() const;

private:
  [[nodiscard]] supervised_engine& of(const frame& f) const {
    return *devices_[f.index % devices_.size()];
  }

  std::vector<std::unique_ptr<supervised_engine>> devices_;
};

} // namespace l3
