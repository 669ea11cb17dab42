// SPDX-License-Identifier: Apache-2.0
// Formatted text, piece by piece, for the tables and pictures of the benches.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace l3::bench {

/// As printf; at most 511 characters a piece.
template <class... Args>
void append(std::string& to, const char* format, Args... args) {
  std::array<char, 512> text;
  std::snprintf(text.data(), text.size(), format, args...);
  to += text.data();
}

} // namespace l3::bench
