// SPDX-License-Identifier: Apache-2.0
#include "tools/pending_file.hpp"

#include <array>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/command_error.hpp"

namespace l3 {

namespace fs = std::filesystem;

void check_replaced(const std::string& writer, const fs::path& name,
                    bool (*is_own)(std::string_view begin)) {
  std::error_code none;
  if (!fs::is_regular_file(name, none)) return;
  std::array<char, 64> begin{};
  std::ifstream in(name, std::ios::binary);
  in.read(begin.data(), begin.size());
  const auto bytes = static_cast<std::size_t>(in.gcount());
  const bool may_be_read = in.is_open();
  if (may_be_read && (bytes == 0 || is_own({begin.data(), bytes}))) return;
  throw command_error(fmt::format("{} exists already, and {} did not write it: it is not "
                                  "overwritten. Choose another name, or remove it",
                                  name.string(), writer));
}

pending_file::pending_file(const fs::path& name)
    : final_(fs::exists(name) ? fs::canonical(name) : name), path_(final_) {
  if (!fs::exists(name) || fs::is_regular_file(name)) path_ += ".new";
}

pending_file::~pending_file() {
  if (path_ != final_) ::unlink(path_.c_str());
}

void pending_file::finish() {
  if (path_ == final_) return;
  fs::rename(path_, final_);
  path_ = final_;
}

} // namespace l3
