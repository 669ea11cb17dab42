// SPDX-License-Identifier: Apache-2.0
// A launcher may close descriptors 0 to 2. The next file that the program opens would then be its
// standard output or error, and log lines would go into a data file.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace l3 {

/// Takes the places of closed standard streams; a write there fails as before. The first statement
/// of a main() that opens files.
inline void take_closed_streams() {
  int file = ::open("/dev/null", O_RDONLY); // the lowest free descriptor
  while (file >= 0 && file < STDERR_FILENO) file = ::dup(file);
  if (file > STDERR_FILENO) ::close(file);
}

} // namespace l3
