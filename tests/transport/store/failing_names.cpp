// SPDX-License-Identifier: Apache-2.0
#include "tests/transport/store/failing_names.hpp"

#include <cerrno>

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int fstatat(int folder, const char* name, struct stat* to, int flags) noexcept {
  if (l3::test::name_error != 0) {
    errno = l3::test::name_error;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_newfstatat, folder, name, to, flags));
}

extern "C" int fsync(int file) {
  if (const auto seen = l3::look_at(file)) l3::test::flushed.insert(seen->who.inode);
  return static_cast<int>(::syscall(SYS_fsync, file));
}

extern "C" DIR* fdopendir(int folder) {
  static const auto of_system = reinterpret_cast<DIR* (*)(int)>(::dlsym(RTLD_NEXT, "fdopendir"));
  ++l3::test::listings;
  return of_system(folder);
}
