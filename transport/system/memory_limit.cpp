// SPDX-License-Identifier: Apache-2.0
#include "transport/system/memory_limit.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <sys/resource.h>

#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  constexpr std::uint64_t most_bytes = 65'536; // of a kernel file
  return read_input(file, most_bytes).text;
}

/// The number after `key` and spaces; 0 if there is none, as for "max".
std::uint64_t number_behind(std::string_view key, std::string_view text) {
  const std::size_t at = text.find(key);
  if (at == text.npos) return 0;
  const std::size_t first = text.find_first_not_of(' ', at + key.size());
  std::uint64_t n = 0;
  if (first != text.npos) (void)std::from_chars(text.data() + first, text.data() + text.size(), n);
  return n;
}

void lower(memory_limit& to, std::uint64_t bytes, std::string whose) {
  if (bytes != 0 && bytes < to.bytes) to = {bytes, std::move(whose)};
}

} // namespace

memory_limit lowest_memory_limit(const fs::path& root) {
  constexpr std::uint64_t kibibyte = 1024;
  memory_limit lowest;
  lower(lowest, number_behind("MemTotal:", text_of(root / "proc/meminfo")) * kibibyte,
        "this machine");
  rlimit addresses{};
  if (::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
    lower(lowest, addresses.rlim_cur, "the limit of addresses (`ulimit -v`)");
  std::string line = text_of(root / "proc/self/cgroup"); // "0::/a/b"
  line.resize(std::min(line.find('\n'), line.size()));
  if (!line.starts_with("0::/")) return lowest;
  fs::path group = fs::path(line.substr(3)).relative_path();
  while (true) { // a group has at most the limits of its parents
    lower(lowest, number_behind("", text_of(root / "sys/fs/cgroup" / group / "memory.max")),
          "the control group /" + group.string());
    if (group.empty()) return lowest;
    group = group.parent_path();
  }
}

} // namespace l3
