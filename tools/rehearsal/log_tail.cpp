// SPDX-License-Identifier: Apache-2.0
#include "tools/rehearsal/log_tail.hpp"

#include <deque>
#include <fstream>

#include "transport/format/plain_text.hpp"

namespace l3 {

std::string see_log(const std::filesystem::path& log) {
  constexpr std::size_t most_lines = 8;
  std::deque<std::string> last;
  std::ifstream in(log);
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    last.push_back(std::move(line));
    if (last.size() > most_lines) last.pop_front();
  }
  std::string text = "; see " + plain_line(log.string());
  for (const auto& line : last) text += "\n    " + line;
  return text;
}

} // namespace l3
