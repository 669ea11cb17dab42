// SPDX-License-Identifier: Apache-2.0
// Writes a file that a person asked for by an option, such as a picture: it is there when it is
// whole, or the command ends with the reason. A file of another kind is not replaced.
#pragma once

#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "tools/command_error.hpp"
#include "tools/pending_file.hpp"

namespace l3 {

/// Throws command_error, and std::filesystem::filesystem_error.
inline void write_file(const std::string& option, const std::string& name,
                       bool (*is_own)(std::string_view begin), std::string_view content) {
  check_replaced(option, name, is_own);
  pending_file file(name);
  std::ofstream out(file.path(), std::ios::binary | std::ios::trunc);
  if (!out)
    throw command_error("cannot write " + name + ": " + std::generic_category().message(errno),
                        exit_missing_resource);
  if (!(out << content) || (out.close(), !out)) throw command_error("cannot write " + name);
  file.finish();
}

} // namespace l3
