// SPDX-License-Identifier: Apache-2.0
#include "selection/complaints.hpp"

#include <fstream>
#include <sstream>

namespace l3 {

void complaints::add(std::string_view text) {
  if (!lines_.empty()) lines_ += '\n';
  lines_ += text;
}

void complaints::raise() const {
  if (!lines_.empty()) throw std::runtime_error(lines_);
}

std::string in_words(double v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  if (std::filesystem::is_directory(file) || !in || !(text << in.rdbuf()))
    throw std::runtime_error("cannot read " + file.string());
  return text.str();
}

} // namespace l3
