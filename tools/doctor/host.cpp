// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/checks.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <unistd.h>

#include "transport/system/file_descriptor.hpp"
#include "transport/system/input_file.hpp"
#include "transport/system/network_cards.hpp"

namespace l3 {
namespace {

/// Asks the driver for one of the structs of linux/ethtool.h, which begins with the command.
/// Returns nothing if the driver does not have it.
template <class Struct>
std::optional<Struct> ask(const std::string& card, std::uint32_t command, Struct answer = {}) {
  ifreq request{};
  answer.cmd = command;
  if (card.size() >= sizeof request.ifr_name) return std::nullopt;
  std::memcpy(request.ifr_name, card.c_str(), card.size() + 1);
  request.ifr_data = reinterpret_cast<char*>(&answer);
  const file_descriptor s(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!s || ::ioctl(s.get(), SIOCETHTOOL, &request) != 0) return std::nullopt;
  return answer;
}

card_state state_of(const std::string& card) {
  card_state state;
  if (const auto r = ask<ethtool_ringparam>(card, ETHTOOL_GRINGPARAM))
    state.ring = {r->rx_pending, r->rx_max_pending};
  if (const auto c = ask<ethtool_channels>(card, ETHTOOL_GCHANNELS))
    state.queues = {c->combined_count + c->rx_count, std::max(c->max_combined, c->max_rx)};
  ethtool_rxnfc udp{};
  udp.flow_type = UDP_V4_FLOW;
  if (const auto h = ask(card, ETHTOOL_GRXFH, udp)) state.spread_by = h->data;
  if (const auto g = ask<ethtool_value>(card, ETHTOOL_GGRO)) state.gathers = g->data != 0;
  return state;
}

std::optional<clock_state> clock_of_this() {
  timex state{};
  constexpr double microsecond = 1e-6;
  const int answer = ::adjtimex(&state);
  if (answer < 0) return std::nullopt;
  return clock_state{answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0,
                     static_cast<double>(state.maxerror) * microsecond};
}

} // namespace

std::string host::text(const std::string& file) const {
  constexpr std::uint64_t most_bytes = 65'536; // of a kernel file
  std::string all = read_input(root / file, most_bytes).text;
  const auto last = all.find_last_not_of(" \t\n");
  all.erase(last == all.npos ? 0 : last + 1);
  return all.substr(std::min(all.find_first_not_of(" \t\n"), all.size()));
}

std::optional<std::int64_t> host::number(const std::string& file) const {
  const std::string all = text(file);
  std::int64_t n = 0;
  const auto read = std::from_chars(all.data(), all.data() + all.size(), n);
  return read.ec == std::errc{} ? std::optional(n) : std::nullopt;
}

std::vector<std::string> host::names(const std::string& folder) const {
  std::vector<std::string> all;
  std::error_code error;
  for (std::filesystem::directory_iterator it(root / folder, error), end; !error && it != end;
       it.increment(error))
    all.push_back(it->path().filename().string());
  std::ranges::sort(all);
  return all;
}

host this_host() {
  host h;
  h.privileged = ::geteuid() == 0;
  h.card = state_of;
  h.interfaces = interfaces_of;
  h.clock = clock_of_this;
  return h;
}

} // namespace l3
