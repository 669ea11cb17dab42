// SPDX-License-Identifier: Apache-2.0
// The computing parts of a node: its engines, each supervised and backed by the CPU, and the dumps
// of batches on which the device failed. This class connects and logs them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"
#include "daemon/compute/batch_dumps.hpp"
#include "daemon/compute/supervised_engine.hpp"
#include "daemon/monitor/snapshot.hpp"
#include "selection/trigger/load_selection.hpp"
#include "transport/accounting/occasional.hpp"

namespace l3 {

/// The capacity of a daemon's frames.
[[nodiscard]] batch_capacity frame_capacity(const daemon_settings& s);
/// Lower bound for the memory of one frame: its input, its output, and the slots in which the
/// strong codec encodes boards.
[[nodiscard]] std::uint64_t least_frame_bytes(const daemon_settings& s);

class compute_side {
public:
  /// The memory that this object will take on the host, without the memory of the devices.
  [[nodiscard]] static std::vector<memory_use>
  memory_plan(const daemon_settings& s, const std::optional<loaded_selection>& selection,
              const found_devices& devices);

  /// `configuration`: the settings as text, for the dumps. Throws as make_engine() does.
  compute_side(const daemon_settings& s, const std::optional<loaded_selection>& selection,
               std::string configuration);

  [[nodiscard]] spread_engine& engine() { return engine_; }
  [[nodiscard]] const spread_engine& engine() const { return engine_; }
  [[nodiscard]] engine_snapshot snapshot() const;

private:
  void failed(engine_failure kind, std::string_view text, const frame& what);

  occasional failures_told_{std::chrono::seconds(1)}; // used by the drain thread
  std::optional<batch_dumps> dumps_;                  // created when the engine knows its name
  std::uint32_t devices_left_out_ = 0;
  spread_engine engine_;
};

} // namespace l3
