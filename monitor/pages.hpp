// SPDX-License-Identifier: Apache-2.0
// Helpers for the pages of http_server, and the page that all programs have.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "monitor/http_server.hpp"

namespace l3 {

/// Escapes text for a place between tags.
[[nodiscard]] inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '&': out += "&amp;"; break;
    default: out += c;
    }
  }
  return out;
}

[[nodiscard]] inline http_response plain_text(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n"};
}
/// docs/runbook.md as an HTML page: the meaning of each warning and alarm, and the remedy.
extern const std::string_view runbook;

[[nodiscard]] inline http_response html(shared_text page) {
  return {200, "text/html; charset=utf-8", std::move(page)};
}
[[nodiscard]] inline http_response prometheus_text(shared_text text) {
  return {200, "text/plain; version=0.0.4; charset=utf-8", std::move(text)};
}
[[nodiscard]] inline http_response json_text(shared_text text) {
  return {200, "application/json", std::move(text)};
}

} // namespace l3
