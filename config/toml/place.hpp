// SPDX-License-Identifier: Apache-2.0
// A place in a file, and a value that remembers its place. A value that can only be checked later,
// together with other files, is refused at the place where it was written.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace l3 {

struct source_place {
  std::string file;
  std::uint32_t line = 0;   ///< from 1; 0: the whole file
  std::uint32_t column = 0; ///< from 1; 0: the whole line

  friend bool operator==(const source_place&, const source_place&) = default;
};

/// "FILE:LINE:COLUMN"
[[nodiscard]] std::string to_string(const source_place& at);

/// A value and where it was set.
template <class T>
struct setting {
  T value{};
  source_place place{"built-in"};

  setting() = default;
  setting(T v) : value(std::move(v)) {}
  setting(T v, source_place where) : value(std::move(v)), place(std::move(where)) {}
  operator const T&() const { return value; }
};

} // namespace l3
