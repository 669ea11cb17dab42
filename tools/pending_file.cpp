// SPDX-License-Identifier: Apache-2.0
#include "tools/pending_file.hpp"

#include <array>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/command_error.hpp"
#include "transport/system/file_io.hpp"

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

whole_file::whole_file(const fs::path& name)
    : name_(name), file_(create_file(name_.path(), O_WRONLY | O_TRUNC)) {
  if (!file_) throw std::system_error(last_error(), "cannot write " + name_.path().string());
}

void whole_file::write(std::span<const std::byte> bytes) {
  if (const auto error = append_all(file_.get(), bytes))
    throw std::system_error(error, "cannot write " + name_.path().string());
}

void whole_file::flush_to_disk() {
  if (::fsync(file_.get()) != 0)
    throw std::system_error(last_error(), "cannot flush " + name_.path().string());
}

} // namespace l3
