// SPDX-License-Identifier: Apache-2.0
// --samples of the commands that read bare waveforms.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "transport/format/l2.hpp"

namespace l3 {

inline CLI::Option* add_samples(CLI::App& command, std::uint32_t& samples) {
  return command.add_option("--samples", samples, "samples of a waveform: a multiple of 64")
      ->check([](const std::string& text) -> std::string {
        constexpr std::uint32_t least = l2::waveform_samples;
        constexpr auto most = std::numeric_limits<std::uint32_t>::max() / least * least;
        std::uint32_t n = 0;
        const bool good = CLI::detail::lexical_cast(text, n) && n > 0 && n % least == 0;
        return good ? ""
                    : fmt::format("{} is not a multiple of {} from {} to {}", text, least, least,
                                  most);
      })
      ->capture_default_str();
}

} // namespace l3
