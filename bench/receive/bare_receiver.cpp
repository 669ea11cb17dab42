// SPDX-License-Identifier: Apache-2.0
#include "bench/receive/bare_receiver.hpp"

#include <array>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "transport/format/l2.hpp"

namespace l3::bench {
namespace {

constexpr int look_for_stop_ms = 20;

} // namespace

bare_receiver::bare_receiver(std::uint16_t port, std::uint16_t ports, byte_size socket_buffer,
                             std::vector<std::byte*> slots, std::size_t slot_bytes)
    : slots_(std::move(slots)), slot_bytes_(slot_bytes) {
  for (std::uint16_t p = 0; p < ports; ++p)
    sockets_.emplace_back("127.0.0.1", static_cast<std::uint16_t>(port + p), socket_buffer);
  thread_ = std::thread([this] { run(); });
}

bare_receiver::~bare_receiver() { stop(); }

void bare_receiver::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void bare_receiver::run() {
  std::vector<pollfd> ports;
  for (const auto& s : sockets_) ports.push_back({s.descriptor(), POLLIN, 0});
  std::array<std::array<std::byte, l2::datagram_header_bytes>, burst> headers{};
  std::array<std::array<iovec, 2>, burst> parts{};
  std::array<mmsghdr, burst> messages{};
  std::size_t next = 0;
  const auto place = [&](std::size_t message) {
    parts[message][1] = {slots_[next], slot_bytes_};
    next = (next + 1) % slots_.size();
  };
  for (std::size_t m = 0; m < burst; ++m) {
    parts[m][0] = {headers[m].data(), headers[m].size()};
    place(m);
    messages[m].msg_hdr.msg_iov = parts[m].data();
    messages[m].msg_hdr.msg_iovlen = parts[m].size();
  }
  while (::poll(ports.data(), ports.size(), look_for_stop_ms) > 0 || !stopping_) {
    for (const auto& p : ports) {
      if (p.revents == 0) continue;
      const int n = ::recvmmsg(p.fd, messages.data(), burst, MSG_DONTWAIT, nullptr);
      for (std::size_t m = 0; n > 0 && m < static_cast<std::size_t>(n); ++m) {
        bytes_ += messages[m].msg_len;
        ++datagrams_;
        place(m);
      }
    }
  }
}

} // namespace l3::bench
