// SPDX-License-Identifier: Apache-2.0
// The configuration of a running daemon, read once more on SIGHUP. A file with mistakes changes
// nothing: all of them are said with their places, as at a start. Of a good one those settings take
// effect that can while data flow (the keys that config/keys.cpp calls live); the others are named,
// because they need a restart. For one thread, which may wait for the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "daemon/settings.hpp"

namespace l3 {

/// All that keeps a daemon from starting with it, as lines for people: what is wrong with the file
/// itself, or else with the files that it names (selection, keys).
[[nodiscard]] std::vector<std::string> mistakes_in(const loaded_config& config);

struct configuration_change {
  std::vector<std::string> live;       ///< `log.level = "debug"`
  std::vector<std::string> at_restart; ///< "frames.count"
};

[[nodiscard]] configuration_change difference(const daemon_settings& running,
                                              const daemon_settings& wanted);

/// Takes over the live settings, and no others.
void adopt_live(const daemon_settings& wanted, daemon_settings& running);

class reloader {
public:
  /// `file` is what `running` was read from; empty if there was none. `apply` makes the live
  /// settings take effect.
  reloader(std::string file, daemon_settings running,
           std::function<void(const daemon_settings&)> apply);

  /// Reads, checks and applies; logs what came of it.
  void reload();

  [[nodiscard]] std::uint64_t applied() const { return applied_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

private:
  /// The selection's files as they were: a daemon goes on with what it read at its start.
  struct selection_texts {
    std::string lines, detector, calibration;
  };
  static selection_texts texts_of(const selection_files& files);

  void refuse(const std::vector<std::string>& mistakes);
  void note_changed_files(std::vector<std::string>& at_restart) const;

  std::string file_;
  daemon_settings running_;
  selection_texts selection_;
  std::function<void(const daemon_settings&)> apply_;
  std::uint64_t applied_ = 0;
  std::uint64_t refused_ = 0;
};

} // namespace l3
