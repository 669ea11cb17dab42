// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <linux/ethtool.h>

#include "config/endpoint.hpp"
#include "tools/doctor/checks.hpp"
#include "transport/format/number_list.hpp"
#include "transport/system/network_cards.hpp"

namespace l3 {
namespace {

constexpr std::uint32_t ip_and_udp_bytes = 28;
constexpr int largest_port = 65'535;

constexpr std::int64_t fast = 10'000; ///< Mb/s of a card for which the kernel's defaults are low

/// Adds the finding `what`: a remedy makes it a warning.
void tell(findings& to, std::string what, std::string text, std::string remedy = "") {
  to.push_back({remedy.empty() ? health::ok : health::warning, std::move(what), std::move(text),
                std::move(remedy)});
}

void check_mtu(const host& h, const daemon_settings& s, const std::string& card, findings& to) {
  const std::int64_t datagram =
      s.building.chunk_bytes + std::int64_t{l2::datagram_header_bytes} + ip_and_udp_bytes;
  const auto mtu = h.number("sys/class/net/" + card + "/mtu");
  if (mtu && *mtu < datagram)
    tell(to, "network.mtu." + card,
         fmt::format("{} carries {} bytes per packet, but a level-2 datagram has up to {}: each is "
                     "fragmented, and lost if a fragment is lost",
                     card, *mtu, datagram),
         fmt::format("ip link set dev {} mtu 9000", card));
  else if (mtu)
    tell(to, "network.mtu." + card,
         fmt::format("{} carries {} bytes per packet, enough for a level-2 datagram", card, *mtu));
}

/// The output has no more bytes than the input.
void check_speed(const daemon_settings& s, const std::string& card, std::int64_t megabits,
                 findings& to) {
  constexpr double mega = 1e6;
  constexpr double giga = 1e9;
  const double rate = s.forward.rate.bits_per_second;
  const std::string runs =
      fmt::format("{} runs at {:g} Gb/s", card, static_cast<double>(megabits) * mega / giga);
  if (static_cast<double>(megabits) * mega < rate)
    tell(to, "network.speed." + card,
         fmt::format("{}, less than the {:g} Gb/s of forward.rate", runs, rate / giga),
         fmt::format("ethtool {} shows what card and switch can do; another cable, port or card, "
                     "or a lower forward.rate",
                     card));
  else
    tell(to, "network.speed." + card, runs);
}

/// The queues of a card are served by different processors.
void check_queues(const daemon_settings& s, const std::string& card, const card_state& is,
                  findings& to) {
  if (!is.queues || is.queues->most < 2) return;
  const auto [now, most] = *is.queues;
  const std::uint32_t wanted = std::min<std::uint32_t>(most, s.udp.ports);
  if (now < wanted)
    tell(to, "network.queues." + card,
         fmt::format("{} receives with {} of {} queues: few processors serve the card", card, now,
                     most),
         fmt::format("ethtool -L {} combined {}", card, wanted));
  else
    tell(to, "network.queues." + card, fmt::format("{} receives with {} queues", card, now));
  constexpr std::uint64_t ports = RXH_L4_B_0_1 | RXH_L4_B_2_3;
  if (now < 2 || !is.spread_by) return;
  if ((*is.spread_by & ports) != ports)
    tell(to, "network.spread." + card,
         fmt::format("{} chooses the queue of a UDP packet without its ports: all datagrams of a "
                     "sender meet in one queue",
                     card),
         fmt::format("ethtool -N {} rx-flow-hash udp4 sdfn", card));
  else
    tell(to, "network.spread." + card,
         fmt::format("{} spreads UDP packets over its queues by their ports", card));
}

void check_driver(const daemon_settings& s, const std::string& card, const card_state& is,
                  findings& to) {
  if (is.ring && is.ring->now < is.ring->most)
    tell(to, "network.ring." + card,
         fmt::format(
             "{} buffers {} packets for the kernel, but can buffer {}: the card may drop bursts",
             card, is.ring->now, is.ring->most),
         fmt::format("ethtool -G {} rx {}", card, is.ring->most));
  else if (is.ring)
    tell(to, "network.ring." + card,
         fmt::format("{} buffers {} packets, its maximum", card, is.ring->now));
  check_queues(s, card, is, to);
  if (is.gathers && *is.gathers)
    tell(to, "network.gro." + card,
         fmt::format("{} gathers packets that have a UDP checksum (GRO)", card));
  else if (is.gathers)
    tell(to, "network.gro." + card,
         fmt::format("{} does not gather packets that have a UDP checksum (GRO)", card),
         fmt::format("ethtool -K {} gro on", card));
}

/// Settings of the kernel for fast cards. deploy/koto-l3d.sysctl sets the same values.
void check_kernel(const host& h, findings& to) {
  struct setting {
    const char* name;
    std::int64_t least;
    const char* otherwise;
  };
  for (const auto& [name, least, otherwise] :
       {setting{"netdev_max_backlog", 16'384,
                "packets that a processor hands to another are dropped in bursts"},
        setting{"netdev_budget", 600, "a processor often leaves the card with packets waiting"}}) {
    const auto now = h.number(std::string("proc/sys/net/core/") + name);
    if (!now) continue;
    const std::string has = fmt::format("net.core.{} is {}", name, *now);
    if (*now < least)
      tell(to, std::string("network.") + name, fmt::format("{}: {}", has, otherwise),
           fmt::format("sysctl -w net.core.{0}={1} && echo net.core.{0}={1} "
                       ">>/etc/sysctl.d/koto-l3.conf",
                       name, least));
    else
      tell(to, std::string("network.") + name, has + ", enough for a fast card");
  }
  const auto poll = h.number("proc/sys/net/core/busy_poll");
  const auto read = h.number("proc/sys/net/core/busy_read");
  if (poll && read)
    tell(to, "network.busy_poll",
         *poll + *read == 0
             ? "the kernel waits for the card's interrupts; net.core.busy_poll=50 and busy_read=50 "
               "would save microseconds and take processor time"
             : fmt::format("the kernel polls the card (net.core.busy_poll is {}, busy_read {} us)",
                           *poll, *read));
}

/// Checks the cards at which the data of level 2 arrive.
void check_cards(const host& h, const daemon_settings& s, findings& to) {
  std::set<std::string> interfaces;
  for (const std::string& bind : {s.udp.bind, s.tcp.bind}) {
    if (bind.empty() || is_loopback(bind) || !h.interfaces) continue;
    interfaces.merge(h.interfaces(bind));
  }
  const auto cards = cards_of(h.root, interfaces);
  if (cards.empty()) return tell(to, "network.cards", "no network card receives data of level 2");
  bool any_fast = false;
  for (const std::string& card : cards) {
    if (!s.udp.bind.empty() && !is_loopback(s.udp.bind)) check_mtu(h, s, card, to);
    const auto speed = h.number("sys/class/net/" + card + "/speed"); // Mb/s; -1: unknown
    if (speed && *speed > 0) check_speed(s, card, *speed, to);
    any_fast = any_fast || speed.value_or(0) >= fast;
    if (h.card) check_driver(s, card, h.card(card), to);
  }
  if (any_fast) check_kernel(h, to);
}

struct port_range {
  int first = 0;
  int last = 0;
};

void check_ports(const host& h, const daemon_settings& s, findings& to) {
  constexpr const char* what = "network.ports";
  std::istringstream text(h.text("proc/sys/net/ipv4/ip_local_port_range"));
  port_range outgoing;
  if (!(text >> outgoing.first >> outgoing.last)) return;
  const std::string kept_now = h.text("proc/sys/net/ipv4/ip_local_reserved_ports");
  const auto reserved = read_number_list(kept_now, largest_port);
  std::vector<port_range> ours;
  if (!s.udp.bind.empty()) ours.push_back({s.udp.port, s.udp.port + s.udp.ports - 1});
  if (!s.tcp.bind.empty()) ours.push_back({s.tcp.port, s.tcp.port});
  if (!s.monitor.bind.empty()) ours.push_back({s.monitor.port, s.monitor.port});
  std::string open;
  for (const port_range& r : ours) {
    const bool meets = r.last >= outgoing.first && r.first <= outgoing.last;
    const auto kept = std::ranges::count_if(
        reserved, [&](int port) { return port >= r.first && port <= r.last; });
    if (!meets || kept == r.last - r.first + 1) continue;
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
  check_cards(h, s, to);
  check_ports(h, s, to);
}

} // namespace l3
