// SPDX-License-Identifier: Apache-2.0
// Reloads the configuration of a running daemon on SIGHUP. A file with mistakes changes nothing:
// the log lists them with their places, as at a start. The live settings (config/keys.cpp) of a
// good file take effect while data flow; the log lists changed settings that need a restart. For
// one thread, which may wait for the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "config/settings.hpp"
#include "selection/trigger/load_selection.hpp"

namespace l3 {

/// The mistakes that prevent a start, as lines of text: those of the file itself, or else those of
/// the files that it names (selection, keys).
[[nodiscard]] std::vector<std::string> mistakes_in(const loaded_config& config);

struct configuration_change {
  std::vector<std::string> live;       ///< `log.level = "debug"`
  std::vector<std::string> at_restart; ///< "frames.count"
};

[[nodiscard]] configuration_change difference(const daemon_settings& running,
                                              const daemon_settings& wanted);

/// Copies only the live settings.
void adopt_live(const daemon_settings& wanted, daemon_settings& running);

class reloader {
public:
  /// `file`: the source of `running`; may be empty. `apply` makes the live settings take effect.
  reloader(std::string file, daemon_settings running,
           std::function<void(const daemon_settings&)> apply);

  /// Reads, checks, applies, and logs the outcome.
  void reload();

  [[nodiscard]] std::uint64_t applied() const { return applied_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  /// Whether the latest reload was refused.
  [[nodiscard]] bool last_refused() const { return last_refused_; }

private:
  void refuse(const std::vector<std::string>& mistakes);
  void note_changed_files(std::vector<std::string>& at_restart) const;

  std::string file_;
  daemon_settings running_;
  selection_texts selection_; // as read at the start, and still in use
  std::function<void(const daemon_settings&)> apply_;
  std::uint64_t applied_ = 0;
  std::uint64_t refused_ = 0;
  bool last_refused_ = false;
};

} // namespace l3
