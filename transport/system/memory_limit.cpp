// SPDX-License-Identifier: Apache-2.0
#include "transport/system/memory_limit.hpp"

#include <charconv>
#include <sstream>
#include <string_view>
#include <system_error>

#include <sys/resource.h>

#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_bytes = 65'536; // of a file of the kernel

/// The number at the begin of a text, after spaces; 0: none, as "max".
std::uint64_t number_in(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  std::uint64_t n = 0;
  if (first != text.npos) (void)std::from_chars(text.data() + first, text.data() + text.size(), n);
  return n;
}

void lower(memory_limit& to, std::uint64_t bytes, std::string whose) {
  if (bytes != 0 && bytes < to.bytes) to = {bytes, std::move(whose)};
}

/// A group has at most what those above it have.
void look_at_groups(memory_limit& to, const fs::path& mounted, const char* file,
                    std::string_view path) {
  fs::path group = fs::path(path).relative_path();
  while (true) {
    lower(to, number_in(read_input(mounted / group / file, most_bytes).text),
          "the control group /" + group.string());
    if (group.empty()) return;
    group = group.parent_path();
  }
}

/// A line of /proc/self/cgroup: "4:memory:/a/b" of version 1, "0::/a/b" of version 2.
void look_at_line(memory_limit& to, const fs::path& root, std::string_view line) {
  const std::size_t one = line.find(':');
  const std::size_t two = one == line.npos ? one : line.find(':', one + 1);
  if (two == line.npos) return;
  const std::string controllers = "," + std::string(line.substr(one + 1, two - one - 1)) + ",";
  const std::string_view path = line.substr(two + 1);
  const fs::path mounted = root / "sys/fs/cgroup";
  if (line.starts_with("0::")) {
    look_at_groups(to, mounted, "memory.max", path);
    look_at_groups(to, mounted / "unified", "memory.max", path);
  } else if (controllers.find(",memory,") != controllers.npos) {
    look_at_groups(to, mounted / "memory", "memory.limit_in_bytes", path);
  }
}

} // namespace

memory_limit lowest_memory_limit(const fs::path& root) {
  constexpr std::uint64_t kibibyte = 1024;
  constexpr std::string_view total = "MemTotal:";
  memory_limit lowest;
  const std::string machine = read_input(root / "proc/meminfo", most_bytes).text;
  if (const std::size_t at = machine.find(total); at != machine.npos)
    lower(lowest, number_in(std::string_view(machine).substr(at + total.size())) * kibibyte,
          "this machine");
  std::istringstream groups(read_input(root / "proc/self/cgroup", most_bytes).text);
  for (std::string line; std::getline(groups, line);) look_at_line(lowest, root, line);
  rlimit addresses{};
  if (::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
    lower(lowest, addresses.rlim_cur, "the limit of addresses (`ulimit -v`)");
  return lowest;
}

} // namespace l3
