// SPDX-License-Identifier: Apache-2.0
// What an action throws, as text, so that a test compares it like any other value.
#pragma once

#include <exception>
#include <string>

namespace l3 {

/// The text of the exception that the action throws; empty if it throws none.
template <class Action>
std::string error_of(const Action& action) {
  try {
    static_cast<void>(action());
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

} // namespace l3
