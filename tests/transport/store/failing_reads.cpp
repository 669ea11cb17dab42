// SPDX-License-Identifier: Apache-2.0
#undef _FORTIFY_SOURCE // with it, the C library's header has a pread() of its own
#include "tests/transport/store/failing_reads.hpp"

#include <cerrno>
#include <cstddef>

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

extern "C" ssize_t pread(int file, void* to, std::size_t bytes, off_t offset) {
  using namespace l3::test;
  if (reads_before > 0) {
    --reads_before;
  } else if (reads_refused > 0) {
    --reads_refused;
    errno = EIO;
    return -1;
  }
  return ::syscall(SYS_pread64, file, to, bytes, offset);
}

extern "C" int ftruncate(int file, off_t bytes) noexcept {
  if (l3::test::cuts_refused > 0) {
    --l3::test::cuts_refused;
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_ftruncate, file, bytes));
}
