// SPDX-License-Identifier: Apache-2.0
// The memory available to this process: of the machine, of each of its control groups (cgroup v2),
// and by its address space limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace l3 {

struct memory_limit {
  std::uint64_t bytes = UINT64_MAX;
  std::string whose; ///< "this machine", "the control group /system.slice/koto-l3d.service"
};

/// The lowest limit; the highest number if none can be read. `root` contains proc and sys.
[[nodiscard]] memory_limit lowest_memory_limit(const std::filesystem::path& root = "/");

} // namespace l3
