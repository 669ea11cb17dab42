// SPDX-License-Identifier: Apache-2.0
// Who a peer of the output link is, where each has a share of what there is: the key that it has
// shown, or without keys the address from which it comes. A machine has as many addresses of IPv6
// as it likes in its network, so all of a network of 64 bits are one peer.
#pragma once

#include <string>

#include <sys/socket.h>
#include <zmq.hpp>

namespace l3 {

/// Of whom a message came, as each has a share: "key …" or "address …".
[[nodiscard]] std::string peer_of(const zmq::message_t& frame);
/// The same for a person, who looks for a machine: with the whole address of IPv6.
[[nodiscard]] std::string peer_in_words(const zmq::message_t& frame);
[[nodiscard]] std::string peer_at(const sockaddr_storage& address);

} // namespace l3
