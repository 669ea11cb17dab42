// SPDX-License-Identifier: Apache-2.0
#include "config/toml/complaints.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

std::string lines_of(const std::vector<complaint>& all) {
  std::vector<std::string> lines;
  lines.reserve(all.size());
  for (const complaint& c : all) lines.push_back(to_string(c));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

} // namespace

std::string to_string(const source_place& at) {
  if (at.line == 0) return at.file;
  return at.column == 0 ? fmt::format("{}:{}", at.file, at.line)
                        : fmt::format("{}:{}:{}", at.file, at.line, at.column);
}

std::string to_string(const complaint& c) { return plain_line(to_string(c.at) + ": " + c.text); }

bad_file::bad_file(std::vector<complaint> all)
    : std::runtime_error(lines_of(all)), all_(std::move(all)) {}

std::vector<complaint> complaints::take() {
  std::stable_sort(all_.begin(), all_.end(), [](const complaint& a, const complaint& b) {
    return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
  });
  return std::exchange(all_, {});
}

} // namespace l3
