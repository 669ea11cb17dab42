// SPDX-License-Identifier: Apache-2.0
// What a peer says at the beginning of a ZMTP connection (https://rfc.zeromq.org/spec/23), judged
// before ZeroMQ reads it. A peer may choose the name by which a ROUTER knows its connection: it
// could choose that of another connection, or the one that the ROUTER is about to give, which ends
// the process. Our daemons choose none, so a connection that does is refused. Without keys that can
// be seen: the peer's greeting and its READY come in plain text. With keys READY is sealed, and the
// opening ends with the greeting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace l3 {

class zmtp_opening {
public:
  enum class verdict : std::uint8_t {
    unfinished,
    fine,
    foreign, ///< not ZMTP 3, or not as it prescribes; older versions begin with a name
    named,   ///< the peer chooses a name
  };

  /// The next bytes of the connection. To be asked no more after any verdict but `unfinished`.
  [[nodiscard]] verdict read(std::span<const std::byte> bytes);
  [[nodiscard]] bool has_begun() const { return !heard_.empty(); }

private:
  [[nodiscard]] verdict judge_greeting() const;
  [[nodiscard]] verdict judge_ready(std::string_view frame) const;

  std::string heard_; ///< at most a greeting and the longest READY
};

} // namespace l3
