// SPDX-License-Identifier: Apache-2.0
// The machine that `koto-l3 doctor` looks at: what its kernel shows in proc and sys, and the few
// answers that only a call of the system gives. A test makes a machine of files and answers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace l3 {

struct ring_sizes {
  std::uint32_t now = 0; ///< packets that the card holds for the kernel
  std::uint32_t most = 0;
};

struct clock_state {
  bool synchronised = false;
  double error = 0; ///< s; the most that the kernel believes it to be wrong
};

struct host {
  std::filesystem::path root = "/"; ///< holds proc and sys
  bool privileged = false;          ///< root, for whom limits of users do not count
  std::function<std::optional<ring_sizes>(const std::string& card)> rings;
  std::function<std::optional<clock_state>()> clock;
  std::function<std::string()> why_no_device; ///< empty: there is one

  /// Without spaces around it; empty if it cannot be read.
  [[nodiscard]] std::string text(const std::string& file) const;
  /// The number at the begin of a file; nothing if there is none.
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& file) const;
  /// Names in a folder, sorted; none if it cannot be read.
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
};

/// This machine, but for the device, which the settings choose.
[[nodiscard]] host this_host();

} // namespace l3
