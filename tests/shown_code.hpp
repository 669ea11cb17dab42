// SPDX-License-Identifier: Apache-2.0
// Code on a page of docs/ is code of a test: a block ```cpp NAME of the page is what stands between
// "// show NAME" and "// end" in a source, word for word, without the indentation of its first
// line. The page can then show nothing that was not compiled and run.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace l3::test {

using code_by_name = std::map<std::string, std::string>;

[[nodiscard]] inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void read_shown(const std::filesystem::path& source, code_by_name& shown) {
  std::istringstream lines(text_of(source));
  const std::string begin = "// show ";
  std::string name;
  std::size_t indent = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = std::min(line.find_first_not_of(' '), line.size());
    if (line.substr(at).starts_with(begin)) {
      name = line.substr(at + begin.size());
      indent = at;
      EXPECT_FALSE(shown.contains(name)) << name;
    } else if (line.substr(at) == "// end") {
      name.clear();
    } else if (!name.empty()) {
      shown[name] += line.substr(std::min(indent, line.size())) + "\n";
    }
  }
}

[[nodiscard]] inline code_by_name quoted_in(const std::filesystem::path& page) {
  std::istringstream lines(text_of(page));
  const std::string begin = "```cpp";
  code_by_name quoted;
  std::string* block = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begin)) {
      block = &quoted[line.substr(std::min(begin.size() + 1, line.size()))];
    } else if (line == "```") {
      block = nullptr;
    } else if (block != nullptr) {
      *block += line + "\n";
    }
  }
  return quoted;
}

/// Whether the page shows all of the sources' code and no other; skips the test where neither is.
/// `shown` becomes what they show.
inline void compare_page(const std::filesystem::path& root, const std::string& page,
                         const std::vector<std::string>& sources, code_by_name& shown) {
  if (!std::filesystem::exists(root / "CMakeLists.txt"))
    GTEST_SKIP() << "the sources, and the page with them, are not here: " << root;
  for (const std::string& source : sources) read_shown(root / source, shown);
  const code_by_name quoted = quoted_in(root / page);
  for (const auto& [name, text] : shown) {
    ASSERT_TRUE(quoted.contains(name)) << "the page does not show " << name;
    EXPECT_EQ(text, quoted.at(name)) << name;
  }
  EXPECT_EQ(shown.size(), quoted.size()) << "the page shows code that nobody compiled";
}

} // namespace l3::test
