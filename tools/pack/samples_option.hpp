// SPDX-License-Identifier: Apache-2.0
// The --samples option of commands that read bare waveforms.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "tools/command_line.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

inline option add_samples(command_line command, std::uint32_t& samples) {
  return command.add_option("--samples", samples, "samples per waveform: a multiple of 64")
      .check([](const std::string& text) -> std::string {
        constexpr std::uint32_t least = l2::waveform_samples;
        constexpr auto most = std::numeric_limits<std::uint32_t>::max() / least * least;
        std::uint32_t n = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
        const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
        return whole && n > 0 && n % least == 0
                   ? ""
                   : fmt::format("{} is not a multiple of {} from {} to {}", text, least, least,
                                 most);
      })
      .capture_default_str();
}

} // namespace l3
