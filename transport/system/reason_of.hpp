// SPDX-License-Identifier: Apache-2.0
// The text of an exception for people. Some libraries add their own names and source places: these
// are removed, and a known file is named.
#pragma once

#include <exception>
#include <filesystem>
#include <string>

#include <boost/system/system_error.hpp>

namespace l3 {

/// One sentence without a source place.
[[nodiscard]] inline std::string reason_of(const std::exception& e) {
  if (const auto* const of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&e))
    return (of_file->path1().empty() ? "" : of_file->path1().string() + " cannot be used: ") +
           of_file->code().message();
  if (const auto* const of_boost = dynamic_cast<const boost::system::system_error*>(&e))
    return of_boost->code().message();
  return e.what();
}

} // namespace l3
