// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/report.hpp"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace l3 {
namespace {

double per_second(std::uint64_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0.0;
}

template <class... Values>
void line(std::string& out, fmt::format_string<Values...> format, Values&&... values) {
  out += fmt::format(format, std::forward<Values>(values)...);
  out += '\n';
}

void node_line(std::string& out, const node_report& n, bool udp) {
  out += fmt::format("  {:<28} {:9} events sent", n.to, n.events);
  if (udp) {
    if (n.refused != 0) out += fmt::format(", datagrams not received: {}", n.refused);
  } else {
    out += fmt::format(", {} acknowledged", n.acknowledged);
    if (n.handed_on != 0) out += fmt::format(", {} handed on", n.handed_on);
    if (n.reconnections != 0) out += fmt::format(", {} times back", n.reconnections);
    if (!n.there) out += ", gone";
  }
  out += n.trouble.empty() ? "\n" : ": " + n.trouble + '\n';
}

boost::json::array nodes_of(const replay_report& r) {
  boost::json::array all;
  for (const node_report& n : r.nodes)
    all.push_back({{"to", n.to},
                   {"events", n.events},
                   {"bytes", n.bytes},
                   {"trouble", n.trouble},
                   {"refused", n.refused},
                   {"there", n.there},
                   {"acknowledged", n.acknowledged},
                   {"handed_on", n.handed_on},
                   {"known", n.known},
                   {"resent", n.resent},
                   {"reconnections", n.reconnections}});
  return all;
}

} // namespace

void replay_report::add(const node_report& n) {
  bytes += n.bytes;
  acknowledged += n.acknowledged;
  known += n.known;
  resent += n.resent;
  reconnections += n.reconnections;
  handed_on += n.handed_on;
  nodes.push_back(n);
}

void replay_report::set_delays(const pace_keeper& pace) {
  const auto n = pace.delays().count();
  if (n == 0) return;
  mean_delay = in_seconds(pace.delays().sum()) / static_cast<double>(n);
  longest_delay = in_seconds(pace.longest_delay());
  // A quantile is the middle of its bucket.
  p99_delay = std::min(in_seconds(pace.delays().quantile(0.99)), longest_delay);
}

std::string to_table(const replay_report& r) {
  constexpr double microsecond = 1e6;
  std::string out;
  line(out, "replay to {}: {}", r.to,
       r.interrupted ? "interrupted"
       : r.finished  ? "done"
                     : "NOT DONE");
  if (!r.trouble.empty()) line(out, "  {}", r.trouble);
  line(out, "  events sent          {:12}  in {:.2f} s, {:.0f} events/s while a spill lasts",
       r.events, r.seconds, per_second(r.events, r.sending_seconds));
  line(out, "  bytes sent           {:12}  {:.3f} Gb/s", r.bytes,
       8e-9 * per_second(r.bytes, r.sending_seconds));
  if (r.data_datagrams != 0) {
    line(out, "  datagrams            {:12}  data, {} trailers, {} ends of spill", r.data_datagrams,
         r.trailers, r.ends_of_spill);
    if (r.dropped != 0)
      line(out, "  dropped on purpose   {:12}  from {} events", r.dropped, r.events_dropped_from);
    if (r.duplicated != 0) line(out, "  sent twice on purpose {:11}", r.duplicated);
    if (r.refused_ends != 0)
      line(out, "  the receiver left before it acknowledged {} ends of spill", r.refused_ends);
    if (r.refused != 0) line(out, "  not received         {:12}  datagrams", r.refused);
  } else {
    line(out, "  events acknowledged  {:12}", r.acknowledged);
    if (r.known != 0)
      line(out, "  already known        {:12}  were sent before, with the same bytes", r.known);
    line(out, "  records sent again   {:12}  after {} reconnections", r.resent, r.reconnections);
  }
  if (r.handed_on != 0)
    line(out, "  handed on            {:12}  events of a lost daemon, sent to others", r.handed_on);
  if (r.nodes.size() > 1)
    for (const node_report& n : r.nodes) node_line(out, n, r.data_datagrams != 0);
  if (r.paced)
    line(out, "  delay of sending     {:12.1f}  µs mean, {:.1f} µs 99 %, {:.1f} µs at most",
         r.mean_delay * microsecond, r.p99_delay * microsecond, r.longest_delay * microsecond);
  return out;
}

std::string to_json(const replay_report& r) {
  boost::json::object o{
      {"to", r.to},
      {"finished", r.finished},
      {"interrupted", r.interrupted},
      {"trouble", r.trouble},
      {"events", r.events},
      {"fragments", r.fragments},
      {"bytes", r.bytes},
      {"spills", r.spills.size()},
      {"datagrams",
       {{"data", r.data_datagrams},
        {"trailers", r.trailers},
        {"end_of_spill", r.ends_of_spill},
        {"dropped", r.dropped},
        {"duplicated", r.duplicated},
        {"refused", r.refused},
        {"refused_ends", r.refused_ends}}},
      {"events_dropped_from", r.events_dropped_from},
      {"acknowledged", r.acknowledged},
      {"known", r.known},
      {"resent", r.resent},
      {"reconnections", r.reconnections},
      {"handed_on", r.handed_on},
      {"nodes", nodes_of(r)},
      {"seconds", r.seconds},
      {"sending_seconds", r.sending_seconds},
      {"events_per_second", per_second(r.events, r.sending_seconds)},
      {"bits_per_second", 8 * per_second(r.bytes, r.sending_seconds)},
      {"delay_seconds",
       {{"mean", r.mean_delay}, {"p99", r.p99_delay}, {"longest", r.longest_delay}}}};
  return boost::json::serialize(o) + '\n';
}

ledger ledger_of(const replay_report& r, bool acknowledging, bool ended) {
  ledger l;
  l.program = "replay";
  l.run = r.run;
  l.ended = ended;
  l.clean = ended && r.finished;
  l.fragments.seen = r.fragments;
  l.fragments.admitted = r.fragments;
  l.events.admitted = r.events;
  l.events.forwarded = acknowledging ? r.acknowledged : 0;
  l.events.in_flight = r.events - l.events.forwarded;
  l.datagrams.data = r.data_datagrams;
  l.datagrams.trailers = r.trailers;
  l.datagrams.end_of_spill = r.ends_of_spill;
  l.datagrams.duplicate = r.duplicated;
  l.bytes.out = r.bytes;
  l.spills = r.spills;
  return l;
}

} // namespace l3
