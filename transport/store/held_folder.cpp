// SPDX-License-Identifier: Apache-2.0
#include "transport/store/held_folder.hpp"

#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

constexpr mode_t file_mode = 0644;

} // namespace

held_folder::held_folder(std::filesystem::path path, std::string_view program)
    : path_(std::move(path)), known_(path_),
      folder_(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!folder_)
    throw std::runtime_error("cannot open the folder " + path_.string() + ": " +
                             last_error().message());
  // On a file system without locks, as on some networks, the administrator must ensure that.
  if (::flock(folder_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw std::runtime_error(path_.string() + " is in use by another " + std::string(program) +
                             ": give each its own");
  if (::faccessat(folder_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    throw std::runtime_error("cannot write to the folder " + path_.string() + ": " +
                             last_error().message());
}

file_descriptor held_folder::open(const std::string& name, int flags,
                                  std::error_code& error) const {
  file_descriptor file(ask_again([&] { return ::openat(get(), name.c_str(), flags | O_CLOEXEC); }));
  error = file ? std::error_code() : last_error();
  return file;
}

file_descriptor held_folder::create(const std::string& name, std::error_code& error) const {
  constexpr int flags = O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC;
  file_descriptor file(::openat(get(), name.c_str(), flags, file_mode));
  error = file ? std::error_code() : last_error();
  return file;
}

int held_folder::remove(const std::string& name) const {
  return ::unlinkat(get(), name.c_str(), 0);
}

} // namespace l3
