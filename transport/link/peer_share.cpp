// SPDX-License-Identifier: Apache-2.0
#include "transport/link/peer_share.hpp"

#include <cstring>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace l3 {

namespace {

constexpr std::size_t network_bytes = 8;
constexpr std::string_view address_word = "address ";

std::string text_of(int family, const void* address) {
  char text[INET6_ADDRSTRLEN] = "";
  (void)::inet_ntop(family, address, text, sizeof text);
  return std::string(address_word) + text;
}

std::string peer_at(in6_addr address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) return text_of(AF_INET, &address.s6_addr[12]);
  std::memset(address.s6_addr + network_bytes, 0, sizeof address.s6_addr - network_bytes);
  return text_of(AF_INET6, &address) + "/64";
}

} // namespace

std::string peer_at(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return text_of(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  if (address.ss_family == AF_INET6)
    return peer_at(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  return "address unknown";
}

std::string peer_in_words(const zmq::message_t& frame) {
  if (const char* const key = zmq_msg_gets(frame.handle(), "User-Id");
      key != nullptr && *key != '\0')
    return std::string("key ") + key;
  const char* const said = zmq_msg_gets(frame.handle(), "Peer-Address");
  return std::string(address_word) + (said != nullptr ? said : "");
}

std::string peer_of(const zmq::message_t& frame) {
  std::string peer = peer_in_words(frame);
  if (!peer.starts_with(address_word)) return peer;
  const std::string address = peer.substr(address_word.size());
  in6_addr ipv6{};
  if (::inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), &ipv6) == 1)
    return peer_at(ipv6);
  return peer;
}

} // namespace l3
