// SPDX-License-Identifier: Apache-2.0
// The proof that a session belongs to its peer (docs/formats.md, section 8). A token is 16 random
// bytes that its daemon keeps to itself and its receiver sees in a hello; the session's number is a
// hash of it. So a receiver checks a token without knowing the session, and a peer that has read
// the number, which every status page shows, cannot speak for the session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/format/block.hpp"

namespace l3 {

using session_token = std::array<std::uint8_t, 16>;

/// A new one, whose session is not 0. Throws std::runtime_error if the system has no randomness.
[[nodiscard]] session_token draw_session_token();

/// The first eight bytes of the token's BLAKE2b hash of 16 bytes, little-endian.
[[nodiscard]] std::uint64_t session_of(const session_token& token);

/// How a hello speaks for its session.
enum class session_claim : std::uint8_t {
  unproven, ///< without a token, as daemons of version 0.1.0 do
  proven,
  false_token, ///< the token is not this session's
};

/// Nothing if it is no hello.
[[nodiscard]] std::optional<session_claim> read_hello(const link_header& header,
                                                      std::span<const std::byte> body);

} // namespace l3
