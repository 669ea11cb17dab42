// SPDX-License-Identifier: Apache-2.0
// Errors of the start name the configuration key to look at. The parts that throw them do not know
// it: they get settings, not the file.
#pragma once

#include <stdexcept>
#include <string>

#include "transport/system/reason_of.hpp"

namespace l3 {

/// Calls `start`; appends " (KEY)" to the text of a std::runtime_error.
template <class Start>
void naming_key(const char* key, const Start& start) {
  try {
    start();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(reason_of(error) + " (" + key + ")");
  }
}

} // namespace l3
