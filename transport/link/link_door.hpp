// SPDX-License-Identifier: Apache-2.0
// The door through which ZeroMQ accepts connections and reads from them: the program's own
// accept4() and recv(), which take the place of the C library's. The door ends a connection for
// which there is no place (link_places). Of each other one it reads along until the peer has said
// who it is (zmtp_opening), and ends it if the peer chooses a name, before ZeroMQ has read that. It
// holds nothing back and changes nothing else. docs/decisions/0020-a-watch-beside-zeromq.md says
// why it is done so.
#pragma once

#include <cerrno>

#include <zmq.hpp>

namespace l3 {

/// What reading from a connection that was refused says; ZeroMQ's monitor says it, too.
constexpr int peer_is_named = ENOTUNIQ;
constexpr int peer_is_foreign = ECONNRESET;
/// What accepting a connection for which there is no place says.
constexpr int no_place_left = ECONNABORTED;
/// It closed the connection before it had said anything, as those do who only ask whether a
/// receiver is there.
constexpr int peer_has_left = ENODATA;

/// A ROUTER behind the door. The names that it gives to its connections begin at a random number.
/// Throws std::runtime_error if ZeroMQ would not go through the door.
[[nodiscard]] zmq::socket_t router_behind_the_door(zmq::context_t& context);

} // namespace l3
