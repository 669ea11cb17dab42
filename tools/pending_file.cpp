// SPDX-License-Identifier: Apache-2.0
#include "tools/pending_file.hpp"

#include <stdexcept>

#include <unistd.h>

namespace l3 {

namespace fs = std::filesystem;

pending_file::pending_file(const fs::path& name)
    : final_(fs::is_regular_file(name) ? fs::canonical(name) : name), path_(final_) {
  if (fs::exists(final_) && !fs::is_regular_file(final_)) return;
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
