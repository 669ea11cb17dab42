// SPDX-License-Identifier: Apache-2.0
// The shifter's page, daemon/monitor/page.html: it asks /status for its numbers twice a second, and
// begins with those that stand in it where it says @FIRST@.
#pragma once

#include <string_view>

namespace l3 {

extern const std::string_view page_html;

} // namespace l3
