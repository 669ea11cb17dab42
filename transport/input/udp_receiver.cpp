// SPDX-License-Identifier: Apache-2.0
#include "transport/input/udp_receiver.hpp"

#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "transport/input/udp_thread.hpp"
#include "transport/system/name_lookup.hpp"

namespace l3 {

std::vector<udp_socket> bind_ports(const udp_settings& settings) {
  const std::string address = listening_address(settings.bind);
  std::vector<udp_socket> sockets;
  for (std::uint16_t p = 0; p < settings.ports; ++p) {
    const auto port = static_cast<std::uint16_t>(settings.port == 0 ? 0 : settings.port + p);
    sockets.emplace_back(address, port, settings.socket_buffer);
    constexpr int on = 1; // kernels before 5.0 gather nothing
    ::setsockopt(sockets.back().descriptor(), SOL_UDP, UDP_GRO, &on, sizeof on);
  }
  return sockets;
}

udp_receiver::udp_receiver(const udp_settings& settings, event_builder& builder)
    : udp_receiver(bind_ports(settings), settings, builder) {}

udp_receiver::udp_receiver(std::vector<udp_socket> sockets, const udp_settings& settings,
                           event_builder& builder) {
  for (const udp_socket& s : sockets) ports_.push_back(s.port());
  socket_buffer_ = smallest_buffer(sockets);
  if (socket_buffer_.bytes < settings.socket_buffer.bytes) {
    advice_ = "each UDP socket got a receive buffer of " + std::to_string(socket_buffer_.bytes) +
              " of the " + std::to_string(settings.socket_buffer.bytes) +
              " bytes asked for: sysctl -w net.core.rmem_max=" +
              std::to_string(settings.socket_buffer.bytes);
  }

  const std::size_t threads = std::clamp<std::size_t>(settings.threads, 1, sockets.size());
  std::vector<std::vector<udp_socket>> dealt(threads);
  for (std::size_t p = 0; p < sockets.size(); ++p)
    dealt[p % threads].push_back(std::move(sockets[p]));
  for (auto& share : dealt)
    threads_.push_back(std::make_unique<udp_thread>(std::move(share), settings.allow, builder));
}

udp_receiver::~udp_receiver() { stop(); }

void udp_receiver::stop(sockets_hold what) {
  for (auto& t : threads_) t->request_stop(what);
  for (auto& t : threads_) t->join();
}

const input_counters& udp_receiver::input(std::size_t thread) const {
  return threads_[thread]->input();
}

std::uint64_t udp_receiver::turns(std::size_t thread) const { return threads_[thread]->turns(); }

bool udp_receiver::has_waiting(std::size_t thread) const { return threads_[thread]->has_waiting(); }

} // namespace l3
