// SPDX-License-Identifier: Apache-2.0
#include "tools/rehearsal/thread_times.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace l3 {

thread_times thread_times_of(pid_t pid) {
  thread_times all;
  std::error_code gone;
  const std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", pid), gone);
  if (gone) return all;
  for (const auto& task : tasks) {
    constexpr double nanosecond = 1e-9;
    std::string name;
    double ran = 0;
    if (std::getline(std::ifstream(task.path() / "comm"), name) &&
        std::ifstream(task.path() / "schedstat") >> ran)
      all[name] += ran * nanosecond;
  }
  return all;
}

thread_times since(const thread_times& before, const thread_times& now) {
  thread_times came;
  for (const auto& [name, seconds] : now) {
    const auto old = before.find(name);
    came[name] = std::max(0.0, seconds - (old == before.end() ? 0 : old->second));
  }
  return came;
}

} // namespace l3
