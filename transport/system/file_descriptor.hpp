// SPDX-License-Identifier: Apache-2.0
// Owns a file descriptor and closes it.
#pragma once

#include <utility>

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

} // namespace l3
