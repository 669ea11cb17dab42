// SPDX-License-Identifier: Apache-2.0
#include "config/load.hpp"

#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "config/amount.hpp"
#include "config/endpoint.hpp"
#include "transport/format/batch_capacity.hpp"

namespace l3 {
namespace {

constexpr std::uint64_t largest_u32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t largest_port = 65535;
constexpr std::uint64_t blocks_in_outbox =
    4; // fewer, and sending waits for every single acknowledgement

// Whether two listeners of the same protocol would bind the same socket.
bool collide(const std::string& a, std::uint16_t port_a, const std::string& b,
             std::uint16_t port_b) {
  if (a.empty() || b.empty() || port_a == 0 || port_a != port_b) return false;
  const auto any = [](const std::string& host) { return host == "0.0.0.0" || host == "::"; };
  return a == b || any(a) || any(b);
}

void check_building(const daemon_settings& s, std::vector<conflict>& found) {
  const std::uint32_t chunk = s.building.chunk_bytes;
  if (chunk % 4 != 0) {
    found.push_back({{"building.chunk_bytes"},
                     fmt::format("building.chunk_bytes = {} is not a multiple of 4", chunk)});
    return;
  }
  const std::uint64_t crates = s.building.crates.size();
  if (std::uint64_t{s.building.max_events_per_spill} * crates > largest_u32)
    found.push_back(
        {{"building.max_events_per_spill", "readout.crates"},
         fmt::format("building.max_events_per_spill = {} with {} crates needs fragment ids of "
                     "more than 32 bits; at most {} events fit",
                     s.building.max_events_per_spill, crates, largest_u32 / crates)});
  // Tables in a frame hold 32-bit offsets.
  const std::size_t bytes = capacity_of(s.building.crates, s.frames.events, chunk).bytes;
  if (bytes > largest_u32 && !s.frames.any_events)
    found.push_back(
        {{"frames.events", "readout.crates", "building.chunk_bytes"},
         fmt::format("frames.events = {} makes frames of {} MiB; with this readout at most {} "
                     "events fit into the 4 GiB that a frame can have",
                     s.frames.events, bytes >> 20,
                     largest_u32 / capacity_of(s.building.crates, 1, chunk).bytes)});
}

void check_inputs(const daemon_settings& s, std::vector<conflict>& found) {
  if (s.udp.bind.empty() && s.tcp.bind.empty()) {
    found.push_back(
        {{"udp.bind", "tcp.bind"}, R"(udp.bind and tcp.bind are both "": no data could come in)"});
  }
  if (!s.udp.bind.empty() && std::uint32_t{s.udp.port} + s.udp.ports - 1 > largest_port) {
    found.push_back({{"udp.bind", "udp.ports"},
                     fmt::format("udp.bind = {} with udp.ports = {} exceeds port 65535",
                                 text_of(internet_address{s.udp.bind, s.udp.port}), s.udp.ports)});
  }
  if (s.udp.threads > s.udp.ports) {
    found.push_back(
        {{"udp.threads", "udp.ports"},
         fmt::format("udp.threads = {} is more than udp.ports = {}", s.udp.threads, s.udp.ports)});
  }
}

void check_listeners(const daemon_settings& s, std::vector<conflict>& found) {
  if (collide(s.tcp.bind, s.tcp.port, s.monitor.bind, s.monitor.port)) {
    found.push_back({{"monitor.bind", "tcp.bind"},
                     fmt::format("monitor.bind and tcp.bind are the same address, {}",
                                 text_of(internet_address{s.monitor.bind, s.monitor.port}))});
  }
  for (const auto& [path, bind, port] :
       {std::tuple{"tcp.bind", s.tcp.bind, s.tcp.port},
        std::tuple{"monitor.bind", s.monitor.bind, s.monitor.port}}) {
    if (!bind.empty() && s.forward.to == "tcp://" + text_of(internet_address{bind, port}))
      found.push_back({{"forward.to", path},
                       fmt::format("forward.to = {} is this daemon's own {}", s.forward.to, path)});
  }
}

/// Keys are the default. A link on loopback may do without them.
void check_insecure(const daemon_settings& s, std::vector<conflict>& found) {
  if (!s.forward.secret_key.empty() || s.forward.insecure) return;
  for (const link_way& way : ways_of(s.forward)) {
    if (is_on_this_machine(way.to)) continue;
    found.push_back(
        {{key_of(way, s.forward), "forward.secret_key"},
         fmt::format(
             "the link to {} has no keys: set forward.secret_key and forward.receiver_key (koto-l3 "
             "keys), or forward.insecure = \"on\" if everyone on the network may read and send",
             way.to)});
    return;
  }
}

void check_keys(const daemon_settings& s, std::vector<conflict>& found) {
  if (s.forward.secret_key.empty() == s.forward.receiver_key.empty()) return;
  const bool has_secret = !s.forward.secret_key.empty();
  found.push_back({{"forward.secret_key", "forward.receiver_key"},
                   fmt::format("forward.{} = {} has no effect without forward.{}",
                               has_secret ? "secret_key" : "receiver_key",
                               has_secret ? s.forward.secret_key : s.forward.receiver_key,
                               has_secret ? "receiver_key" : "secret_key")});
}

/// An IPv4 address cannot reach an IPv6 address. The family of a name is not known here.
void check_ways(const daemon_settings& s, std::vector<conflict>& found) {
  for (const link_way& way : s.forward.from) {
    const std::string& to = way.to.empty() ? s.forward.to : way.to;
    const auto there = read_address(to.substr(to.find("//") + 2));
    const auto is_v6 = [](const std::string& host) { return host.find(':') != host.npos; };
    if (there && is_number(there->host) && is_v6(there->host) != is_v6(way.from))
      found.push_back({{"forward.from", "forward.to"},
                       fmt::format("forward.from has {}, which is not of the kind of {}: one is an "
                                   "IPv4 address, the other an IPv6 address",
                                   way.from, to)});
  }
}

void check_farm(const daemon_settings& s, std::vector<conflict>& found) {
  if (!s.farm.etcd.empty() && s.run.control.empty())
    found.push_back({{"farm.etcd", "run.control"},
                     "farm.etcd needs run.control: without it a daemon is in one run from its "
                     "start to its end"});
  if (s.farm.user.empty() != s.farm.password.empty())
    found.push_back(
        {{"farm.user", "farm.password"}, "farm.user and farm.password must be set together"});
}

void check_selection(const daemon_settings& s, std::vector<conflict>& found) {
  if (s.selection.mode == selection_mode::record && s.selection.lines.empty())
    found.push_back({{"selection.mode", "selection.lines"},
                     "selection.mode = record needs selection.lines: without them every event is "
                     "kept, and no lines decide"});
  if (!s.selection.shadow.empty() && s.selection.lines.empty())
    found.push_back(
        {{"selection.shadow", "selection.lines"},
         "selection.shadow needs selection.lines: there is no active menu to compare with"});
}

} // namespace

std::vector<conflict> conflicts_in(const daemon_settings& s) {
  std::vector<conflict> found;
  check_building(s, found);
  check_inputs(s, found);
  check_listeners(s, found);
  check_keys(s, found);
  check_insecure(s, found);
  check_ways(s, found);
  check_farm(s, found);
  check_selection(s, found);
  if (s.outbox.memory.bytes < blocks_in_outbox * s.outbox.block.bytes) {
    found.push_back(
        {{"outbox.memory", "outbox.block"},
         fmt::format("outbox.memory = {} holds fewer than {} blocks of outbox.block = {}",
                     show_amount(s.outbox.memory.bytes, dimension::size), blocks_in_outbox,
                     show_amount(s.outbox.block.bytes, dimension::size))});
  }
  return found;
}

} // namespace l3
