// SPDX-License-Identifier: Apache-2.0
// How much memory this process may have: of the machine, of each control group (cgroup v2) that it
// is in, and by the limit of its addresses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace l3 {

struct memory_limit {
  std::uint64_t bytes = UINT64_MAX;
  std::string whose; ///< "this machine", "the control group /system.slice/koto-l3d.service"
};

/// The lowest; the highest number if nothing can be read. `root` holds proc and sys.
[[nodiscard]] memory_limit lowest_memory_limit(const std::filesystem::path& root = "/");

} // namespace l3
