// SPDX-License-Identifier: Apache-2.0
// Disks that fail, for tests of what writes to them: one that takes only so many bytes, and one
// that cannot confirm what it took.
#pragma once

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include <sys/resource.h>

#include "transport/store/store_writer.hpp"

namespace l3::test {

/// A limit on the size of files stands in for a disk that has a little room, or fails in the middle
/// of a block.
class file_size_limit {
public:
  explicit file_size_limit(rlim_t size) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN); // write() then fails instead
    const rlimit limited{size, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~file_size_limit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

/// While this is false no flush succeeds.
inline std::atomic<bool> disk_works = true;

inline int flush_if_it_works(int) {
  errno = EIO;
  return disk_works ? 0 : -1;
}

/// Of a store that waits for that disk.
inline store_settings on_doubtful_disk(const std::filesystem::path& folder) {
  store_settings settings{folder};
  settings.sync = true;
  settings.flush = flush_if_it_works;
  return settings;
}

} // namespace l3::test
