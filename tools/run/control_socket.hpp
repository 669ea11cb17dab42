// SPDX-License-Identifier: Apache-2.0
// Sends requests to a daemon's run control (docs/run-control.md) over its unix socket.
#pragma once

#include <string>

#include <boost/json.hpp>

namespace l3 {

struct control_answer {
  unsigned status = 0;
  boost::json::object body;

  [[nodiscard]] bool good() const { return status >= 200 && status < 300; }
};

/// GET without a body, else POST. Throws command_error: 69 if no daemon listens there or access is
/// denied, 1 for invalid responses.
[[nodiscard]] control_answer ask_control(const std::string& socket, const std::string& path,
                                         const std::string& body);

} // namespace l3
