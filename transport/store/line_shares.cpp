// SPDX-License-Identifier: Apache-2.0
#include "transport/store/line_shares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "transport/link/link_message.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr double unlimited = std::numeric_limits<double>::infinity();
constexpr double bits_per_byte = 8;
/// Between two divisions.
constexpr auto division_interval = 10ms;
/// Between two looks at acknowledgements that wait.
constexpr auto look_at_held = 2ms;
/// Over which the use of a lane is averaged.
constexpr double lately = 0.4; // s
/// A block that comes this much later than the one before it promised shows that fewer come.
constexpr double block_late = 1.5;
/// A lane could use what it used lately and a little more, and wants to send what waits in this
/// time.
constexpr double a_little_more = 1.01;
constexpr double time_for_what_waits = 0.25; // s
/// Smaller changes are not worth a message.
constexpr double worth_telling = 0.003;
/// What a lane without grants may send beyond its part before its acknowledgement waits, and
/// blocks that it may have under way, as times at its rate.
constexpr double slack_without_grants = 0.02;  // s
constexpr double credit_without_grants = 0.05; // s
constexpr std::uint32_t fewest_without_grants = 2;
/// A lane beyond what it may have under way is greedy when it is beyond that by so much more.
constexpr double greedy_after = 0.5; // s
constexpr std::chrono::seconds silence_limit(5);
constexpr std::uint32_t most_weight = 16;

struct claim {
  double wanted = 0;
  double weight = 1;
  double part = 0;
};

/// Gives each what it wants, or if that is more than there is, equal parts by weight to those that
/// want more than that.
void fill(std::vector<claim*> all, double there_is) {
  std::ranges::sort(all, {}, [](const claim* c) { return c->wanted / c->weight; });
  double weights = 0;
  for (const claim* c : all) weights += c->weight;
  for (claim* c : all) {
    c->part = std::min(c->wanted, there_is * c->weight / weights);
    there_is -= c->part;
    weights -= c->weight;
  }
}

/// First what they want, then what is left, up to what each may have at most.
void share_out(std::vector<std::pair<claim, double>>& claims_and_most, double there_is) {
  std::vector<claim*> all;
  all.reserve(claims_and_most.size());
  for (auto& [c, most] : claims_and_most) all.push_back(&c);
  fill(all, there_is);
  std::vector<claim> rest;
  rest.reserve(all.size());
  for (auto& [c, most] : claims_and_most) {
    there_is -= c.part;
    rest.push_back({most - c.part, c.weight, 0});
  }
  std::vector<claim*> more;
  more.reserve(rest.size());
  for (claim& c : rest) more.push_back(&c);
  fill(more, std::max(0.0, there_is));
  for (std::size_t i = 0; i < rest.size(); ++i) claims_and_most[i].first.part += rest[i].part;
}

double rate_limit(const link_demand_body& wanted) {
  return wanted.rate > 0 ? static_cast<double>(wanted.rate) : unlimited;
}

} // namespace

bool line_shares::lane::is_there(time_point now) const {
  if (!knows_grants) return used_at != time_point() && now < heard_at + silence_limit;
  return now < heard_at + lease;
}

double line_shares::lane::in_force(time_point now) const {
  if (!is_there(now)) return 0;
  return confirmed ? told : std::max(told, told_before);
}

double line_shares::lane::used_now(time_point now) const {
  const double silent = in_seconds(now - used_at);
  // Demands come with blocks, when the average has just risen: it is half a block too high.
  const double average =
      std::max(0.0, used * std::exp(-silent / lately) - last_block * bits_per_byte / 2 / lately);
  // Whose next block does not come any more uses nothing.
  return silent > 0 ? std::min(average, block_late * last_block * bits_per_byte / silent) : average;
}

double line_shares::lane::could_use(time_point now) const {
  if (!knows_grants) return held_since ? unlimited : a_little_more * used_now(now);
  const double waits = static_cast<double>(wanted.waiting) * bits_per_byte / time_for_what_waits;
  return std::min(rate_limit(wanted), a_little_more * used_now(now) + waits);
}

void line_shares::lane::tell(double rate, time_point now) {
  settle(now);
  told_before = in_force(now);
  told = rate;
  ++number;
  confirmed = !knows_grants; // acknowledgements that wait are in force at once
}

/// What was in force since the last time is paid.
void line_shares::lane::settle(time_point now) {
  debt = std::max(0.0, debt - in_force(debt_at) / bits_per_byte * in_seconds(now - debt_at));
  debt_at = now;
}

line_shares::lane& line_shares::find_or_begin(std::uint64_t session, const line_user& user,
                                              time_point now) {
  const auto [at, is_new] = lanes_.try_emplace(session);
  at->second.user = user;
  if (is_new) at->second.heard_at = at->second.debt_at = now;
  return at->second;
}

void line_shares::demand(std::uint64_t session, const line_user& user,
                         const link_demand_body& wanted, time_point now) {
  if (!divides()) return;
  lane& l = find_or_begin(session, user, now);
  l.settle(now);
  if (!l.is_there(now) || !l.knows_grants) { // nothing that it was granted holds any more
    l.told = l.told_before = 0;
    ++l.number;
    l.confirmed = true;
  } else if (wanted.grant == l.number) {
    l.confirmed = true;
  }
  l.knows_grants = true;
  l.wanted = wanted;
  l.wanted.weight = std::clamp<std::uint32_t>(wanted.weight, 1, most_weight);
  l.heard_at = now;
  changed_ = true;
}

void line_shares::took(std::uint64_t session, const line_user& user, std::uint64_t bytes,
                       std::uint64_t under_way, time_point now) {
  if (!divides()) return;
  lane& l = find_or_begin(session, user, now);
  l.settle(now);
  l.used = l.used * std::exp(-in_seconds(now - l.used_at) / lately) +
           static_cast<double>(bytes) * bits_per_byte / lately;
  l.used_at = now;
  l.last_block = static_cast<double>(bytes);
  l.under_way = under_way;
  l.debt += static_cast<double>(bytes);
  // A debt that is never paid would slow the lane long after it has come to its senses.
  l.debt = std::min(l.debt, 2 * (static_cast<double>(under_way) + l.told / bits_per_byte));
  if (l.knows_grants) return;
  l.heard_at = now;
  changed_ = true;
}

void line_shares::end(std::uint64_t session) {
  if (lanes_.erase(session) != 0) changed_ = true;
}

void line_shares::let_go_the_absent(time_point now) {
  for (auto& [session, l] : lanes_) {
    if (!l.knows_grants || l.is_there(now) || (l.told == 0 && l.told_before == 0)) continue;
    l.settle(now);
    l.told = l.told_before = 0;
    ++l.number;
    l.confirmed = true;
    changed_ = true;
  }
  std::erase_if(lanes_, [&](const auto& e) { return now >= e.second.heard_at + silence_limit; });
}

/// What each lane that is there should have: first the nodes, by the parts of their peers, then the
/// lanes of each.
std::map<std::uint64_t, double> line_shares::parts(time_point now) const {
  std::map<line_user, std::vector<std::pair<std::uint64_t, const lane*>>> nodes;
  for (const auto& [session, l] : lanes_)
    if (l.is_there(now)) nodes[l.user].emplace_back(session, &l);
  std::map<std::string_view, double> nodes_of_peer;
  for (const auto& [user, lanes] : nodes) ++nodes_of_peer[user.peer];
  const double there_is = granted_part * line_;
  const auto weight_of = [&](const line_user& user) { return 1 / nodes_of_peer.at(user.peer); };
  const auto floor_of = [&](const line_user& user) {
    return floor_part * line_ * weight_of(user) / static_cast<double>(nodes_of_peer.size());
  };

  std::vector<std::pair<claim, double>> of_nodes;
  for (const auto& [user, lanes] : nodes) {
    double wanted = 0;
    double most = 0;
    for (const auto& [session, l] : lanes) {
      wanted += l->could_use(now);
      most = std::max(most, rate_limit(l->wanted));
    }
    most = std::min(most, there_is);
    const double floor = std::min(floor_of(user), most);
    of_nodes.push_back({{std::clamp(wanted, floor, most), weight_of(user)}, most});
  }
  share_out(of_nodes, there_is);

  std::map<std::uint64_t, double> parts;
  auto of_node = of_nodes.begin();
  for (const auto& [user, lanes] : nodes) {
    const double its = (of_node++)->first.part;
    const double least = std::min(floor_of(user), its) / static_cast<double>(lanes.size());
    std::vector<std::pair<claim, double>> of_lanes;
    of_lanes.reserve(lanes.size());
    for (const auto& [session, l] : lanes)
      of_lanes.push_back({{std::clamp(l->could_use(now), least, std::max(least, its)),
                           static_cast<double>(l->wanted.weight)},
                          its});
    share_out(of_lanes, its);
    for (std::size_t i = 0; i < lanes.size(); ++i) parts[lanes[i].first] = of_lanes[i].first.part;
  }
  return parts;
}

std::vector<std::uint64_t> line_shares::divide(time_point now) {
  std::vector<std::uint64_t> told;
  if (!divides()) return told;
  let_go_the_absent(now);
  if (!changed_ || now < divided_at_ + division_interval) return told;
  changed_ = false;
  divided_at_ = now;
  const auto wanted = parts(now);
  const auto tell = [&](std::uint64_t session, lane& l, double rate) {
    l.tell(rate, now);
    if (l.knows_grants) told.push_back(session);
  };
  for (const auto& [session, rate] : wanted) {
    lane& l = lanes_.at(session);
    if (l.confirmed && rate < l.told * (1 - worth_telling)) tell(session, l, rate);
  }
  double free = granted_part * line_ - in_force(now);
  for (const auto& [session, rate] : wanted) {
    lane& l = lanes_.at(session);
    if (!l.confirmed || free <= 0 || rate <= l.told * (1 + worth_telling)) continue;
    const double more = std::min(rate - l.told, free);
    if (more <= l.told * worth_telling) continue;
    free -= more;
    tell(session, l, l.told + more);
  }
  return told;
}

time_point line_shares::due(time_point now) const {
  if (!divides()) return never;
  time_point due = changed_ ? divided_at_ + division_interval : never;
  for (const auto& [session, l] : lanes_) {
    if (l.held_since) due = std::min(due, now + look_at_held);
    if (l.knows_grants && l.told > 0) due = std::min(due, l.heard_at + lease);
  }
  return due;
}

std::optional<link_answer_body> line_shares::grant_of(std::uint64_t session) const {
  if (!divides()) return std::nullopt;
  const auto found = lanes_.find(session);
  link_answer_body grant;
  grant.flags = answer_divides;
  if (found != lanes_.end() && found->second.knows_grants) {
    const lane& l = found->second;
    grant.rate = static_cast<std::uint64_t>(l.told);
    grant.grant = l.number;
    grant.demand = l.wanted.demand;
    grant.lease = static_cast<std::uint32_t>(lease.count());
  }
  return grant;
}

bool line_shares::holds_back(std::uint64_t session, time_point now) {
  const auto found = lanes_.find(session);
  if (found == lanes_.end()) return false;
  lane& l = found->second;
  l.settle(now);
  const double allowed = l.knows_grants ? static_cast<double>(l.under_way)
                                        : slack_without_grants * l.told / bits_per_byte;
  if (l.debt <= allowed) {
    l.held_since.reset();
    return false;
  }
  if (!l.held_since) l.held_since = now;
  if (now < *l.held_since + longest_hold) return true;
  l.held_since = now;
  return false;
}

bool line_shares::is_greedy(std::uint64_t session, time_point now) {
  const auto found = lanes_.find(session);
  if (found == lanes_.end()) return false;
  lane& l = found->second;
  l.settle(now);
  return l.debt > static_cast<double>(l.under_way) + greedy_after * l.told / bits_per_byte;
}

std::optional<std::uint32_t> line_shares::credit_of(std::uint64_t session,
                                                    std::uint64_t longest) const {
  const auto found = lanes_.find(session);
  if (found == lanes_.end() || found->second.knows_grants || longest == 0) return std::nullopt;
  const double bytes = credit_without_grants * found->second.told / bits_per_byte;
  return std::max(fewest_without_grants,
                  static_cast<std::uint32_t>(bytes / static_cast<double>(longest)));
}

double line_shares::granted_to(std::uint32_t node, time_point now) const {
  double all = 0;
  for (const auto& [session, l] : lanes_)
    if (l.user.node == node && l.is_there(now)) all += l.told;
  return all;
}

double line_shares::in_force(time_point now) const {
  double all = 0;
  for (const auto& [session, l] : lanes_) all += l.in_force(now);
  return all;
}

} // namespace l3
