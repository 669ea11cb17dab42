// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/datagram_burst.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <time.h>

namespace l3 {

namespace {

constexpr std::size_t few = 16;                 // datagrams of a smooth burst
constexpr std::size_t longest_message = 65'000; // bytes; an IP packet has fewer than 65536

[[noreturn]] void fail(const destination& to, int error) {
  throw std::runtime_error(to.text() + ": " + std::generic_category().message(error));
}

} // namespace

datagram_burst::datagram_burst(const destination& to, failure on_failure, style how)
    : to_(to), limit_(how == style::fast ? capacity : few), segments_(how == style::fast),
      on_failure_(on_failure) {
  auto address = resolve(to);
  const int family = address.storage.ss_family;
  socket_ = file_descriptor(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_) fail(to, errno);
  for (std::uint16_t p = 0; p < to.ports; ++p) {
    address.set_port(static_cast<std::uint16_t>(to.port + p));
    addresses_.push_back(address);
  }
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket_.get(), level, option, &value, sizeof value);
  };
  if (how == style::smooth) set(SOL_SOCKET, SO_NO_CHECK, 1);
  constexpr int send_buffer = 4 << 20;
  set(SOL_SOCKET, SO_SNDBUF, send_buffer);
  // Only a connected socket gets errors about a closed port.
  if (family == AF_INET6) {
    set(IPPROTO_IPV6, IPV6_RECVERR, 1);
  } else {
    set(IPPROTO_IP, IP_RECVERR, 1);
  }
}

std::size_t datagram_burst::turn() {
  const auto port = next_port_;
  next_port_ = (next_port_ + 1) % addresses_.size();
  return port;
}

void datagram_burst::add(const l2::datagram_header& header, std::span<const std::byte> payload) {
  auto& d = datagrams_[used_++];
  l2::write_datagram_header(d.header.data(), header);
  d.payload = payload;
  d.port = turn();
}

void datagram_burst::repeat_last() {
  datagrams_[used_] = datagrams_[used_ - 1];
  ++used_;
}

void datagram_burst::take_errors() {
  for (;;) {
    socket_address to;
    alignas(cmsghdr) std::array<std::byte, 512> control{};
    msghdr m{};
    m.msg_name = &to.storage;
    m.msg_namelen = sizeof to.storage;
    m.msg_control = control.data();
    m.msg_controllen = control.size();
    if (::recvmsg(socket_.get(), &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
    for (cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c)) {
      const bool ours = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                        (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
      if (!ours) continue;
      sock_extended_err error;
      std::memcpy(&error, CMSG_DATA(c), sizeof error);
      if (error.ee_errno != ECONNREFUSED) continue;
      ++refused_;
      if (refused_port_ == 0) refused_port_ = to.port();
    }
  }
}

/// Arguments of sendmmsg.
struct datagram_burst::messages {
  std::array<mmsghdr, capacity> headers{};
  std::array<std::size_t, capacity> datagrams{}; ///< of each message
  std::array<iovec, 2 * capacity> parts{};
  alignas(cmsghdr) std::array<std::byte, capacity * CMSG_SPACE(sizeof(std::uint16_t))> control{};
  std::size_t count = 0;
};

void datagram_burst::sort_by_port() {
  std::stable_sort(datagrams_.begin(), datagrams_.begin() + static_cast<std::ptrdiff_t>(used_),
                   [](const datagram& a, const datagram& b) { return a.port < b.port; });
}

/// The datagrams of a message have one length; only the last may be shorter.
void datagram_burst::prepare(messages& next, std::size_t from) {
  next.count = 0;
  std::size_t part = 0;
  for (std::size_t i = from; i < used_;) {
    const std::size_t first = i;
    const std::size_t length = datagrams_[first].bytes();
    const std::size_t first_part = part;
    std::size_t bytes = 0;
    do {
      datagram& d = datagrams_[i];
      // The interface lacks const; it does not write through these pointers.
      next.parts[part++] = {d.header.data(), d.header.size()};
      if (!d.payload.empty())
        next.parts[part++] = {const_cast<std::byte*>(d.payload.data()), d.payload.size()};
      bytes += d.bytes();
      ++i;
    } while (segments_ && i < used_ && datagrams_[i].port == datagrams_[first].port &&
             datagrams_[i - 1].bytes() == length && datagrams_[i].bytes() <= length &&
             bytes + datagrams_[i].bytes() <= longest_message);
    msghdr& m = next.headers[next.count].msg_hdr;
    m = {};
    m.msg_name = &addresses_[datagrams_[first].port].storage;
    m.msg_namelen = addresses_[datagrams_[first].port].bytes;
    m.msg_iov = &next.parts[first_part];
    m.msg_iovlen = part - first_part;
    if (i - first > 1) {
      constexpr std::size_t room = CMSG_SPACE(sizeof(std::uint16_t));
      m.msg_control = &next.control[next.count * room];
      m.msg_controllen = room;
      cmsghdr* const c = CMSG_FIRSTHDR(&m);
      c->cmsg_level = SOL_UDP;
      c->cmsg_type = UDP_SEGMENT;
      c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
      const auto segment = static_cast<std::uint16_t>(length);
      std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
    }
    next.datagrams[next.count++] = i - first;
  }
}

void datagram_burst::send() {
  if (segments_) sort_by_port();
  messages next;
  for (std::size_t sent = 0; sent < used_;) {
    prepare(next, sent);
    const int n =
        ::sendmmsg(socket_.get(), next.headers.data(), static_cast<unsigned>(next.count), 0);
    if (n > 0) {
      for (std::size_t m = 0; m < static_cast<std::size_t>(n); ++m) {
        bytes_ += next.headers[m].msg_len;
        sent += next.datagrams[m];
      }
      continue;
    }
    switch (errno) {
    case EINTR: break;
    case ECONNREFUSED: take_errors(); break; // an earlier datagram's error
    case ENOBUFS:
    case EAGAIN: {
      constexpr timespec moment{0, 50'000};
      ::nanosleep(&moment, nullptr);
      break;
    }
    case EINVAL:
    case EIO:
    case EMSGSIZE:
      if (std::exchange(segments_, false)) break; // the network cannot cut such messages
      if (errno != EMSGSIZE) fail(to_, errno);
      throw std::runtime_error(fmt::format(
          "{}: a datagram of {} bytes is too long for the network: use a smaller --chunk",
          to_.text(), datagrams_[sent].payload.size()));
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
      // An error of this or an earlier datagram: the machine or its network is gone.
      if (on_failure_ == failure::throws) fail(to_, errno);
      no_way_ = std::generic_category().message(errno);
      refused_ += next.datagrams[0];
      sent += next.datagrams[0];
      break;
    default: fail(to_, errno);
    }
  }
  used_ = 0;
}

} // namespace l3
