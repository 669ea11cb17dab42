// SPDX-License-Identifier: Apache-2.0
#include "tools/pending_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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

namespace {

/// There a lock may keep this program from writing through another descriptor (SMB), or outlive a
/// machine that has it (NFS): programs on several machines are not kept apart.
bool is_remote(int file) {
  struct statfs of {};
  constexpr std::array remote{0x6969U, 0x517BU, 0xFE534D42U, 0xFF534D42U}; // NFS, SMB, SMB2, CIFS
  return ::fstatfs(file, &of) == 0 &&
         std::ranges::find(remote, static_cast<unsigned>(of.f_type)) != remote.end();
}

} // namespace

file_descriptor hold_new_file(const fs::path& path) {
  constexpr int most_tries = 100; // a file system may give a file another number at each look
  for (int tries = 1;; ++tries) {
    file_descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    struct stat held {};
    if (!file || ::fstat(file.get(), &held) != 0) return {};
    if (!S_ISREG(held.st_mode))
      throw std::runtime_error(path.string() + " is no file: take it away");
    // A file system without locks refuses otherwise: then a program has the file as it had before.
    if (!is_remote(file.get()) && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 &&
        errno == EWOULDBLOCK)
      throw std::runtime_error(path.string() +
                               " is being written by another program: wait until it "
                               "ends, or choose another name");
    // The one that had it may have finished or removed it since it was opened.
    struct stat named {};
    const bool is_it = ::lstat(path.c_str(), &named) == 0 && named.st_dev == held.st_dev &&
                       named.st_ino == held.st_ino;
    if (is_it || tries == most_tries) return file;
  }
}

pending_file::pending_file(const fs::path& name) : final_(name), path_(name) {
  if (fs::exists(name) && !fs::is_regular_file(name)) return;
  path_ = final_ = end_of_links(name);
  path_ += ".new";
  // A pipe without a reader cannot be opened.
  if (fs::exists(fs::symlink_status(path_)) && !fs::is_regular_file(fs::symlink_status(path_)))
    throw std::runtime_error(path_.string() + " is no file: take it away");
  held_ = hold_new_file(path_);
}

pending_file::~pending_file() {
  if (path_ != final_) ::unlink(path_.c_str());
}

void pending_file::finish() {
  if (path_ == final_) return;
  fs::rename(path_, final_);
  path_ = final_;
  held_ = {};
}

} // namespace l3
