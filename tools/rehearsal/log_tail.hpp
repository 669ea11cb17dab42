// SPDX-License-Identifier: Apache-2.0
// The last lines of a failed program's log, for the error text.
#pragma once

#include <filesystem>
#include <string>

namespace l3 {

/// "; see LOG", and its last lines below, if it has any.
[[nodiscard]] std::string see_log(const std::filesystem::path& log);

} // namespace l3
