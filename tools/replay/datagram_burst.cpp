// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/datagram_burst.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <sys/socket.h>
#include <time.h>

namespace l3 {
namespace {

[[noreturn]] void fail(const destination& to, int error) {
  throw std::runtime_error(to.text() + ": " + std::generic_category().message(error));
}

} // namespace

datagram_burst::datagram_burst(const destination& to, failure on_failure)
    : to_(to), on_failure_(on_failure) {
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
  set(SOL_SOCKET, SO_NO_CHECK, 1); // the electronics send no UDP checksum
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

void datagram_burst::send() {
  std::array<mmsghdr, capacity> messages{};
  std::array<iovec, 2 * capacity> parts{};
  for (std::size_t i = 0; i < used_; ++i) {
    auto& d = datagrams_[i];
    // The interface lacks const; it does not write through these pointers.
    parts[2 * i] = {d.header.data(), d.header.size()};
    parts[2 * i + 1] = {const_cast<std::byte*>(d.payload.data()), d.payload.size()};
    auto& m = messages[i].msg_hdr;
    m.msg_name = &addresses_[d.port].storage;
    m.msg_namelen = addresses_[d.port].bytes;
    m.msg_iov = &parts[2 * i];
    m.msg_iovlen = d.payload.empty() ? 1 : 2;
  }
  for (std::size_t sent = 0; sent < used_;) {
    const int n =
        ::sendmmsg(socket_.get(), &messages[sent], static_cast<unsigned>(used_ - sent), 0);
    if (n > 0) {
      for (int i = 0; i < n; ++i) bytes_ += messages[sent + static_cast<std::size_t>(i)].msg_len;
      sent += static_cast<std::size_t>(n);
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
    case EMSGSIZE:
      throw std::runtime_error(fmt::format(
          "{}: a datagram of {} bytes is too long for the network: use a smaller --chunk",
          to_.text(), datagrams_[sent].payload.size()));
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
      // An error of this or an earlier datagram: the machine or its network is gone.
      if (on_failure_ == failure::throws) fail(to_, errno);
      no_way_ = std::generic_category().message(errno);
      ++refused_;
      ++sent;
      break;
    default: fail(to_, errno);
    }
  }
  used_ = 0;
}

} // namespace l3
