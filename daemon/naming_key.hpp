// SPDX-License-Identifier: Apache-2.0
// Errors of the start say which key of the configuration to look at. The parts that throw them do
// not know: they get settings, not the file.
#pragma once

#include <stdexcept>
#include <string>

namespace l3 {

/// Calls `start`; a std::runtime_error leaves with " (KEY)" behind its text.
template <class Start>
void naming_key(const char* key, const Start& start) {
  try {
    start();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string(error.what()) + " (" + key + ")");
  }
}

} // namespace l3
