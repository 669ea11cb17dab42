// SPDX-License-Identifier: Apache-2.0
// The machine that `koto-l3 doctor` checks: its files in proc and sys, and a few system calls.
// Tests replace both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace l3 {

struct ring_sizes {
  std::uint32_t now = 0; ///< packets that the card buffers for the kernel
  std::uint32_t most = 0;
};

struct clock_state {
  bool synchronised = false;
  double error = 0; ///< s; the kernel's bound on its error
};

struct host {
  std::filesystem::path root = "/"; ///< contains proc and sys
  bool privileged = false;          ///< root, to whom user limits do not apply
  std::function<std::optional<ring_sizes>(const std::string& card)> rings;
  std::function<std::optional<clock_state>()> clock;
  std::function<std::string()> why_no_device; ///< empty: there is a device

  /// The file's text without spaces around it; empty if it cannot be read.
  [[nodiscard]] std::string text(const std::string& file) const;
  /// The number at the begin of a file, if there is one.
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& file) const;
  /// Sorted names in a folder; empty if it cannot be read.
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
};

/// This machine, except the device, which depends on the settings.
[[nodiscard]] host this_host();

} // namespace l3
