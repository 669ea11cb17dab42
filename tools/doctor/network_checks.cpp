// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "config/endpoint.hpp"
#include "tools/doctor/checks.hpp"

namespace l3 {
namespace {

constexpr std::uint32_t ip_and_udp_bytes = 28;

/// Network cards that are up; software devices have no `device`.
std::vector<std::string> cards_of(const host& h) {
  std::vector<std::string> cards;
  for (const std::string& name : h.names("sys/class/net")) {
    const std::string folder = "sys/class/net/" + name;
    std::error_code error;
    const bool is_card = std::filesystem::exists(h.root / folder / "device", error);
    if (is_card && h.text(folder + "/operstate") != "down") cards.push_back(name);
  }
  return cards;
}

void check_card(const host& h, const daemon_settings& s, const std::string& card, findings& to) {
  const std::int64_t datagram =
      s.building.chunk_bytes + std::int64_t{l2::datagram_header_bytes} + ip_and_udp_bytes;
  const auto mtu = h.number("sys/class/net/" + card + "/mtu");
  if (mtu && *mtu < datagram)
    to.push_back({health::warning, "network.mtu." + card,
                  fmt::format("{} carries {} bytes per packet, but a level-2 datagram has up to "
                              "{}: each is fragmented, and lost if a fragment is lost",
                              card, *mtu, datagram),
                  fmt::format("ip link set dev {} mtu 9000", card)});
  else if (mtu)
    to.push_back(
        {health::ok, "network.mtu." + card,
         fmt::format("{} carries {} bytes per packet, enough for a level-2 datagram", card, *mtu),
         ""});
  const auto rings = h.rings ? h.rings(card) : std::nullopt;
  if (rings && rings->now < rings->most)
    to.push_back(
        {health::warning, "network.ring." + card,
         fmt::format(
             "{} buffers {} packets for the kernel, but can buffer {}: the card may drop bursts",
             card, rings->now, rings->most),
         fmt::format("ethtool -G {} rx {}", card, rings->most)});
  else if (rings)
    to.push_back({health::ok, "network.ring." + card,
                  fmt::format("{} buffers {} packets, its maximum", card, rings->now), ""});
}

struct port_range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// "42000-42007,42100"
std::vector<port_range> ranges_in(const std::string& text) {
  std::vector<port_range> ranges;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    port_range r;
    char dash = 0;
    std::istringstream numbers(part);
    if (!(numbers >> r.first)) continue;
    if (!(numbers >> dash >> r.last)) r.last = r.first;
    ranges.push_back(r);
  }
  return ranges;
}

void check_ports(const host& h, const daemon_settings& s, findings& to) {
  constexpr const char* what = "network.ports";
  std::istringstream text(h.text("proc/sys/net/ipv4/ip_local_port_range"));
  port_range outgoing;
  if (!(text >> outgoing.first >> outgoing.last)) return;
  const std::string kept_now = h.text("proc/sys/net/ipv4/ip_local_reserved_ports");
  const auto reserved = ranges_in(kept_now);
  std::vector<port_range> ours;
  if (!s.udp.bind.empty()) ours.push_back({s.udp.port, s.udp.port + s.udp.ports - 1U});
  if (!s.tcp.bind.empty()) ours.push_back({s.tcp.port, s.tcp.port});
  if (!s.monitor.bind.empty()) ours.push_back({s.monitor.port, s.monitor.port});
  std::string open;
  for (const port_range& r : ours) {
    const bool meets = r.last >= outgoing.first && r.first <= outgoing.last;
    const bool kept = std::ranges::any_of(
        reserved, [&](const port_range& k) { return k.first <= r.first && r.last <= k.last; });
    if (!meets || kept) continue;
    open += open.empty() ? "" : ",";
    open += r.first == r.last ? fmt::to_string(r.first) : fmt::format("{}-{}", r.first, r.last);
  }
  if (open.empty())
    return to.push_back({health::ok, what, "no outgoing connection uses the daemon's ports", ""});
  to.push_back({health::warning, what,
                fmt::format("ports {} are in the range of outgoing connections ({} to {}): one may "
                            "be taken when the daemon starts",
                            open, outgoing.first, outgoing.last),
                fmt::format("sysctl -w net.ipv4.ip_local_reserved_ports={0} && echo "
                            "net.ipv4.ip_local_reserved_ports={0} >>/etc/sysctl.d/koto-l3.conf",
                            kept_now.empty() ? open : kept_now + "," + open)});
}

} // namespace

void check_network(const host& h, const daemon_settings& s, findings& to) {
  const auto cards = cards_of(h);
  if (cards.empty()) to.push_back({health::ok, "network.cards", "no network card was found", ""});
  if (is_loopback(s.udp.bind))
    to.push_back({health::ok, "network.cards",
                  "udp.bind accepts datagrams of this machine only: cards do not matter", ""});
  else if (!s.udp.bind.empty())
    for (const std::string& card : cards) check_card(h, s, card, to);
  check_ports(h, s, to);
}

} // namespace l3
