// SPDX-License-Identifier: Apache-2.0
// The settings of sessions: the texts in the stream, and, when somebody asks, what koto-l3 makes of
// them: lines, counters, channels with their calibration.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "selection/trigger/load_selection.hpp"

namespace l3::reading {

class loaded_settings {
public:
  /// `session`: a name for messages.
  loaded_settings(recorded_settings recorded, std::string session, std::uint32_t run)
      : recorded_(std::move(recorded)), session_(std::move(session)), run_(run) {}

  [[nodiscard]] const recorded_settings& recorded() const { return recorded_; }
  [[nodiscard]] const readout& crates() const { return recorded_.crates; }
  [[nodiscard]] bool has_selection() const { return !recorded_.lines.empty(); }
  /// Null without a selection. Throws std::runtime_error if this version cannot read the texts.
  [[nodiscard]] const loaded_selection* selection() const;
  /// The detector of the selection; without one the built-in detector, if it fits the readout; else
  /// null.
  [[nodiscard]] const detector* channels() const;
  [[nodiscard]] const std::vector<channel_calibration>& calibrated() const;
  /// "crystal 17", by number of the input; empty for unused ones.
  [[nodiscard]] const std::vector<std::string>& names() const;

private:
  void load() const;

  recorded_settings recorded_;
  std::string session_;
  std::uint32_t run_;
  mutable std::mutex mutex_;
  mutable bool loaded_ = false;
  mutable std::unique_ptr<loaded_selection> selection_;
  mutable std::unique_ptr<detector> built_in_;
  mutable std::vector<channel_calibration> calibrated_;
  mutable std::vector<std::string> names_;
};

} // namespace l3::reading
