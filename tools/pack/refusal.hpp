// SPDX-License-Identifier: Apache-2.0
// Error messages about an input of pack or unpack, with its name and the offset of the fault.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "tools/pack/byte_stream.hpp"

namespace l3 {

template <class... Parts>
[[noreturn]] void refuse(const byte_input& in, std::uint64_t offset,
                         fmt::format_string<Parts...> what, Parts&&... parts) {
  throw std::runtime_error(fmt::format("{}: offset {}: {}", in.name(), offset,
                                       fmt::format(what, std::forward<Parts>(parts)...)));
}

[[noreturn]] inline void refuse_rest(const byte_input& in, std::uint64_t offset, std::uint64_t rest,
                                     std::uint32_t samples) {
  refuse(in, offset, "{} bytes are left, not a whole waveform of {} samples", rest, samples);
}

} // namespace l3
