// SPDX-License-Identifier: Apache-2.0
// What a receiver's monitoring address serves: /metrics and /status for programs, a page for
// people, and the short answers for health checks.
#pragma once

#include <functional>
#include <string>

#include "monitor/http_server.hpp"
#include "receiver/snapshot.hpp"

namespace l3 {

/// A page of its own: nothing is loaded from elsewhere.
[[nodiscard]] std::string render_page(const receive_snapshot& s);

/// The functions are called on the HTTP thread at each request and must not wait for the receiver;
/// `stuck`: its thread makes no progress.
[[nodiscard]] http_pages receive_pages(std::function<receive_snapshot()> latest,
                                       std::function<bool()> stuck);

} // namespace l3
