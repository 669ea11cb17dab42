// SPDX-License-Identifier: Apache-2.0
// Processor time of a program's threads, by their names (docs/architecture.md lists a daemon's).
#pragma once

#include <map>
#include <string>

#include <sys/types.h>

namespace l3 {

/// Seconds of all threads of a name together, since they began; empty if there is no such process.
using thread_times = std::map<std::string, double>;

[[nodiscard]] thread_times thread_times_of(pid_t pid);

/// What came since `before`; threads that ended in between are left out.
[[nodiscard]] thread_times since(const thread_times& before, const thread_times& now);

} // namespace l3
