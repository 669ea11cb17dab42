// SPDX-License-Identifier: Apache-2.0
#include "tools/pending_file.hpp"

#include <array>
#include <fstream>
#include <stdexcept>

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
  throw command_error(fmt::format("{} is there already, and {} did not write it: it stays as it "
                                  "is. Choose another name, or take it away",
                                  name.string(), writer));
}

fs::path end_of_links(fs::path path) {
  constexpr int most_links = 40; // as many as the system follows
  for (int links = 0; fs::is_symlink(path); ++links) {
    if (links == most_links)
      throw fs::filesystem_error("cannot write", path,
                                 std::make_error_code(std::errc::too_many_symbolic_link_levels));
    path = path.parent_path() / fs::read_symlink(path);
  }
  return path;
}

pending_file::pending_file(const fs::path& name) : final_(name), path_(name) {
  if (fs::exists(name) && !fs::is_regular_file(name)) return;
  path_ = final_ = end_of_links(name);
  path_ += ".new";
  // Opening a pipe would wait for its other end.
  if (fs::exists(fs::symlink_status(path_)) && !fs::is_regular_file(fs::symlink_status(path_)))
    throw std::runtime_error(path_.string() + " is no file: take it away");
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
