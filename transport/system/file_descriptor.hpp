// SPDX-License-Identifier: Apache-2.0
// Owns a file descriptor and closes it.
#pragma once

#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace l3 {

class file_descriptor {
public:
  file_descriptor() = default;
  explicit file_descriptor(int number) : number_(number) {}
  file_descriptor(file_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  file_descriptor& operator=(file_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~file_descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

private:
  int number_ = -1;
};

// A launcher may close descriptors 0 to 2. The next file that the program opens would then be its
// standard output or error, and log lines would go into a data file.

/// Takes the places of closed standard streams; a write there fails as before. The first statement
/// of a main() that opens files.
inline void take_closed_streams() {
  int file = ::open("/dev/null", O_RDONLY); // the lowest free descriptor
  while (file >= 0 && file < STDERR_FILENO) file = ::dup(file);
  if (file > STDERR_FILENO) ::close(file);
}

} // namespace l3
