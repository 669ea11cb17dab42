// SPDX-License-Identifier: Apache-2.0
// The daemon's end of an output link with keys: gives a socket its keys before it connects, and
// puts into words why a receiver did not let it in. Without that text a wrong key is mere silence:
// ZeroMQ goes on trying.
#pragma once

#include <cstdint>
#include <string>

#include <zmq.hpp>

#include "transport/output/settings.hpp"

namespace l3 {

/// Of a socket's monitor: the events that why_not_let_in() understands.
inline constexpr int handshake_failures = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                          ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                          ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

/// Does nothing if the settings name no keys. Throws std::runtime_error that names the file.
void use_keys(zmq::socket_t& socket, const forward_settings& settings);

/// What to tell a person; empty for any other event, and where there is nothing to tell.
[[nodiscard]] std::string why_not_let_in(const forward_settings& settings, std::uint16_t event,
                                         std::int32_t value);

/// What is wrong with the key files of a daemon, by the names of its settings; empty if nothing is.
[[nodiscard]] std::string wrong_with_keys(const forward_settings& settings);

} // namespace l3
