// SPDX-License-Identifier: Apache-2.0
#include "tools/print.hpp"

#include <cstdint>

#include <unistd.h>

#include "transport/system/line_writer.hpp"

namespace l3 {

line_writer& standard_error() {
  static line_writer writer(STDERR_FILENO, [](std::uint64_t left_out) {
    return fmt::format("({} lines left out: they could not be written)\n", left_out);
  });
  return writer;
}

void write_error(std::string_view text) { standard_error().write(text); }

} // namespace l3
