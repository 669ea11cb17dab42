// SPDX-License-Identifier: Apache-2.0
// The pages of a receiver's monitoring address: /metrics and /status for programs, a page for
// people, and short answers for health checks.
#pragma once

#include <functional>
#include <string>

#include "monitor/http_server.hpp"
#include "receiver/snapshot.hpp"

namespace l3 {

/// The overview page; it loads nothing from elsewhere.
[[nodiscard]] std::string render_page(const receive_snapshot& s);

/// The HTTP thread calls the functions at each request, so they must not wait for the receiver.
/// `stuck`: whether the receiver's thread makes no progress.
[[nodiscard]] http_pages receive_pages(std::function<receive_snapshot()> latest,
                                       std::function<bool()> stuck);

} // namespace l3
