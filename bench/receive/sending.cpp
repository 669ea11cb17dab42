// SPDX-License-Identifier: Apache-2.0
#include "bench/receive/sending.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "transport/format/time.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3::bench {
namespace {

/// Datagrams between two reads of the clock.
constexpr std::size_t most = 64;

cpu_time cpu_of(int who) {
  rusage used{};
  ::getrusage(who, &used);
  const auto seconds = [](const timeval& t) {
    constexpr double micro = 1e-6;
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * micro;
  };
  return {seconds(used.ru_utime), seconds(used.ru_stime)};
}

/// A call of sendmmsg being prepared.
class group {
public:
  explicit group(std::span<const std::uint16_t> ports) : to_(ports.size()) {
    for (std::size_t p = 0; p < ports.size(); ++p) {
      to_[p].sin_family = AF_INET;
      to_[p].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      to_[p].sin_port = htons(ports[p]);
    }
  }

  void add(const sent_datagram& d, std::size_t port) {
    l2::write_datagram_header(headers_[used_].data(), d.header);
    parts_[used_][0] = {headers_[used_].data(), headers_[used_].size()};
    parts_[used_][1] = {const_cast<std::byte*>(d.payload), d.bytes};
    msghdr& m = messages_[used_].msg_hdr;
    m.msg_name = &to_[port];
    m.msg_namelen = sizeof to_[port];
    m.msg_iov = parts_[used_].data();
    m.msg_iovlen = parts_[used_].size();
    bytes_ += headers_[used_].size() + d.bytes;
    ++used_;
  }

  void send(int socket, sent_traffic& sent) {
    for (std::size_t at = 0; at < used_;) {
      const int n = ::sendmmsg(socket, &messages_[at], static_cast<unsigned>(used_ - at), 0);
      if (n < 0) throw std::system_error(errno, std::generic_category(), "sendmmsg");
      at += static_cast<std::size_t>(n);
    }
    sent.datagrams += used_;
    sent.bytes += bytes_;
    used_ = bytes_ = 0;
  }

private:
  std::vector<sockaddr_in> to_;
  std::array<std::array<std::byte, l2::datagram_header_bytes>, most> headers_{};
  std::array<std::array<iovec, 2>, most> parts_{};
  std::array<mmsghdr, most> messages_{};
  std::size_t used_ = 0;
  std::size_t bytes_ = 0;
};

} // namespace

cpu_time& cpu_time::operator-=(const cpu_time& other) {
  user -= other.user;
  system -= other.system;
  return *this;
}

cpu_time cpu_of_thread() { return cpu_of(RUSAGE_THREAD); }
cpu_time cpu_of_process() { return cpu_of(RUSAGE_SELF); }

sent_traffic send(const traffic& t, std::span<const std::uint16_t> ports, double bytes_per_second) {
  const file_descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) throw std::system_error(errno, std::generic_category(), "socket");
  const std::size_t at_once = std::min(most, ports.size());
  group next(ports);
  sent_traffic sent;
  const cpu_time before = cpu_of_thread();
  const time_point begin = steady_clock::now();
  for (std::size_t i = 0, in_group = 0;; ++i) {
    const std::size_t port = i % ports.size();
    const auto& list = t.ports[port];
    const bool over = i / ports.size() >= list.size();
    if (!over) {
      next.add(list[i / ports.size()], port);
      ++in_group;
    }
    if (!over && in_group < at_once) continue;
    next.send(socket.get(), sent);
    in_group = 0;
    if (over) break; // lists filled in turn end together
    if (bytes_per_second != 0) {
      std::this_thread::sleep_until(
          begin +
          std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::duration<double>(static_cast<double>(sent.bytes) / bytes_per_second)));
    }
  }
  sent.seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
  sent.cpu = cpu_of_thread();
  sent.cpu -= before;
  return sent;
}

} // namespace l3::bench
