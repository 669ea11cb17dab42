// SPDX-License-Identifier: Apache-2.0
#include "bench/receive/veth_pair.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <net/if.h>
#include <sched.h>

#include "tools/rehearsal/child_process.hpp"

namespace l3::bench {

namespace {

constexpr const char* far_mac = "02:00:00:00:00:02";

void ip(std::vector<std::string> arguments) {
  const auto program = find_program("ip");
  if (!program) throw std::runtime_error("ip is not in PATH");
  arguments.insert(arguments.begin(), program->string());
  child_process child(arguments, "/dev/null");
  constexpr std::chrono::seconds patience{10};
  if (child.wait(patience) != 0) throw std::runtime_error("`ip` cannot make a virtual cable here");
}

void put(std::vector<std::byte>& to, std::initializer_list<unsigned> bytes) {
  for (const unsigned b : bytes) to.push_back(static_cast<std::byte>(b));
}

void put_big(std::vector<std::byte>& to, std::size_t value) {
  put(to, {static_cast<unsigned>(value >> 8 & 0xff), static_cast<unsigned>(value & 0xff)});
}

} // namespace

veth_pair::veth_pair(std::uint32_t mtu) {
  if (::unshare(CLONE_NEWNET) != 0)
    throw std::runtime_error("no network namespace can be made: " +
                             std::generic_category().message(errno));
  const std::string size = fmt::to_string(mtu);
  ip({"link", "add", near, "mtu", size, "type", "veth", "peer", "name", far, "mtu", size});
  ip({"link", "set", far, "address", far_mac});
  ip({"address", "add", std::string(far_address) + "/24", "dev", far});
  ip({"link", "set", near, "up"});
  ip({"link", "set", far, "up"});
}

std::uint32_t veth_pair::index_of(const char* interface) { return ::if_nametoindex(interface); }

std::vector<std::byte> veth_pair::frame(std::uint16_t port, std::size_t payload) {
  constexpr std::size_t udp_head = 8, ip_head = 20;
  std::vector<std::byte> f;
  put(f, {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00});
  const std::size_t ip_at = f.size();
  put(f, {0x45, 0});
  put_big(f, ip_head + udp_head + payload);
  put(f, {0, 0, 0x40, 0, 64, 17, 0, 0, 10, 78, 0, 1, 10, 78, 0, 2});
  std::uint32_t sum = 0;
  for (std::size_t i = ip_at; i < f.size(); i += 2)
    sum += std::to_integer<std::uint32_t>(f[i]) << 8 | std::to_integer<std::uint32_t>(f[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  const std::uint32_t check = ~sum & 0xffff;
  f[ip_at + 10] = static_cast<std::byte>(check >> 8);
  f[ip_at + 11] = static_cast<std::byte>(check & 0xff);
  constexpr std::size_t from_port = 9;
  put_big(f, from_port);
  put_big(f, port);
  put_big(f, udp_head + payload);
  put(f, {0, 0}); // no checksum, as level 2
  for (std::size_t i = 0; i < payload; ++i) f.push_back(static_cast<std::byte>(i * 7 + 1));
  return f;
}

} // namespace l3::bench
