// SPDX-License-Identifier: Apache-2.0
#include "config/toml/complaints.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

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
  errno = 0;
  std::ifstream in(file);
  const bool folder = std::filesystem::is_directory(file);
  std::string text;
  if (in && !folder) text.assign(std::istreambuf_iterator<char>(in), {});
  if (!in || folder)
    throw std::runtime_error("cannot read " + file.string() + ": " +
                             std::generic_category().message(folder ? EISDIR : errno));
  return text;
}

} // namespace l3
