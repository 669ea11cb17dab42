// SPDX-License-Identifier: Apache-2.0
// What a program that failed said last: whoever reads of the failure should not have to look for
// its log first.
#pragma once

#include <filesystem>
#include <string>

namespace l3 {

/// "; see LOG", and its last lines below, if it has any.
[[nodiscard]] std::string see_log(const std::filesystem::path& log);

} // namespace l3
