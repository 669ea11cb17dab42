// SPDX-License-Identifier: Apache-2.0
// What all drawings have in common: the colours of a light or a dark screen, and letters.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace l3 {

/// The style element of an SVG. `own`: further rules, a line each; `font`: size of letters, px.
[[nodiscard]] inline std::string drawing_style(int font, std::string_view own) {
  return fmt::format(R"(<style>
  svg {{ color: #222; font: {}px sans-serif; }}
  .paper {{ fill: #fff; }}
  @media (prefers-color-scheme: dark) {{ svg {{ color: #ddd; }} .paper {{ fill: #16181a; }} }}
  text {{ fill: currentColor; }}
{}</style>
)",
                     font, own);
}

} // namespace l3
