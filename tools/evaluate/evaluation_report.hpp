// SPDX-License-Identifier: Apache-2.0
// An evaluation as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include <boost/json.hpp>

#include "tools/evaluate/evaluation.hpp"

namespace l3 {

[[nodiscard]] std::string evaluation_text(const evaluation& e,
                                          const std::vector<std::string>& lines,
                                          const std::string& signal_line);
[[nodiscard]] boost::json::object evaluation_json(const evaluation& e,
                                                  const std::vector<std::string>& lines,
                                                  const std::string& signal_line);

} // namespace l3
