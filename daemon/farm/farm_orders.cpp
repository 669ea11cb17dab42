// SPDX-License-Identifier: Apache-2.0
// The path of an order through the farm: one node proposes it under a lease, each node answers, and
// one change of etcd commits it. Only the proposing node commits it; if that node dies, its lease
// ends the proposal.
#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/farm/farm_member.hpp"
#include "monitor/log.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr auto order_time = 30s;      ///< lifetime of a proposal
constexpr auto pause_patience = 25s;  ///< how long to wait for a pause
constexpr auto answer_patience = 6s;  ///< how long to wait for the nodes
constexpr auto early_in_a_pause = 1s; ///< so that all nodes see it in the same pause
constexpr auto no_beam = 4s;          ///< longer than pauses between spills

} // namespace

void farm_member::answer(std::vector<std::string> reasons) {
  const std::lock_guard lock(mutex_);
  if (wish_ && !answer_) answer_ = std::move(reasons);
  answered_now_.notify_all();
}

bool farm_member::beam_allows(time_point now) const {
  const std::lock_guard lock(mutex_);
  const auto quiet = now - pauses_since_;
  return pauses_ && (quiet <= early_in_a_pause || quiet >= no_beam);
}

void farm_member::take_wish(const farm_view& v, time_point now) {
  farm_wish w;
  {
    const std::lock_guard lock(mutex_);
    if (!wish_ || answer_) return;
    w = *wish_;
  }
  if (own_ && !own_->agreed) return; // the request is in progress
  if (v.order && w.start)
    return answer({fmt::format(
        "{} is in progress, requested on node {}: wait for it, or cancel it (koto-l3 run stop)",
        v.order->value.start ? fmt::format("run {}", v.order->value.number) : "a stop",
        v.order->value.by)});
  if (own_ || v.order) stopped_one_ = true;
  if (own_) return withdraw({"it was stopped"});
  if (v.order) return remove_order(v.order->changed); // another node's, which notices
  const bool stopped_one = std::exchange(stopped_one_, false);
  if (auto wrong = wrong_with(w, v); !wrong.empty())
    return answer(stopped_one ? std::vector<std::string>() : std::move(wrong));
  farm_order order = order_of(w, v);
  if (auto wrong = w.start ? node_.add_menu(order) : std::vector<std::string>(); !wrong.empty())
    return answer(std::move(wrong));
  propose(std::move(order), w, v, now);
}

/// Removes the order if it has not changed since.
void farm_member::remove_order(std::int64_t changed) {
  static_cast<void>(etcd_.change({{key(farm_keys::order), false, changed}},
                                 {{etcd_step::kind::remove, key(farm_keys::order), {}, 0},
                                  {etcd_step::kind::remove_all, key(farm_keys::armed), {}, 0}}));
}

std::vector<std::string> farm_member::wrong_with(const farm_wish& w, const farm_view& v) const {
  if (!w.start) {
    const bool idle = std::ranges::all_of(
        v.members, [](const auto& m) { return m.second.value.state == "configured"; });
    if (idle && !(known_ && known_->start)) return {"no run is active or waiting"};
    return {};
  }
  std::vector<std::string> reasons;
  if (v.members.size() > farm_limits::nodes)
    reasons.push_back(fmt::format("the farm has more than {} nodes", farm_limits::nodes));
  for (const std::uint32_t node : w.without) {
    if (v.members.contains(node))
      reasons.push_back(
          fmt::format("node {} is running: stop its daemon to continue without it", node));
    else if (!v.nodes.contains(node))
      reasons.push_back(fmt::format("no node {} has joined the farm", node));
  }
  for (const std::uint32_t node : v.nodes)
    if (!v.members.contains(node) && std::ranges::find(w.without, node) == w.without.end())
      reasons.push_back(
          fmt::format("node {0} is missing: its daemon is not connected to etcd; restore the "
                      "connection, or continue without it (--without {0})",
                      node));
  if (!w.number && !next_number(v))
    reasons.emplace_back("the highest run number is already used: choose another (--number)");
  return reasons;
}

/// The highest number that any node knows, plus one. Returns nothing if none is left.
std::optional<std::uint32_t> farm_member::next_number(const farm_view& v) const {
  constexpr std::uint32_t highest = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t next = 0;
  for (const auto& [node, m] : v.members) {
    if (!m.value.next) return std::nullopt;
    next = std::max(next, *m.value.next);
  }
  if (known_ && known_->start && known_->number == highest) return std::nullopt;
  if (known_ && known_->start) next = std::max(next, known_->number + 1);
  return next;
}

farm_order farm_member::order_of(const farm_wish& w, const farm_view& v) const {
  farm_order o;
  o.serial = std::max(known_ ? known_->serial : 0, v.run ? v.run->value.serial : 0) + 1;
  o.start = w.start;
  o.number = w.start ? w.number.value_or(next_number(v).value_or(0)) : known_ ? known_->number : 0;
  o.again = w.again;
  o.comment = w.comment;
  o.menu = w.menu;
  o.by = node_.number();
  for (const auto& [node, m] : v.members) o.nodes[node] = m.value.instance;
  return o;
}

/// One change, on condition that there is no other order since and that all nodes are present.
void farm_member::propose(farm_order order, const farm_wish& w, const farm_view& v,
                          time_point now) {
  std::vector<etcd_condition> only_if{{key(farm_keys::order), true, 0},
                                      {key(farm_keys::now), false, v.run_changed()}};
  for (const auto& [node, m] : v.members)
    only_if.push_back({key_of(farm_keys::members, node), true, m.created});
  const std::int64_t lease = etcd_.grant(order_time);
  std::vector<etcd_step> steps{
      {etcd_step::kind::put, key(farm_keys::order), written(order), lease}};
  for (const std::uint32_t node : w.without)
    steps.push_back({etcd_step::kind::remove, key_of(farm_keys::nodes, node), {}, 0});
  if (!etcd_.change(only_if, steps)) return etcd_.revoke(lease); // the next round finds the reason
  const auto found = etcd_.read({key(farm_keys::order)}, 1);
  if (found[0].keys.empty()) return;
  own_ = proposal{std::move(order), found[0].keys[0].created, lease, now, false, {}};
  const std::lock_guard lock(mutex_);
  report_.failure.clear();
}

/// Returns false if it has changed what the view shows.
bool farm_member::pursue(const farm_view& v, time_point now) {
  bool given_up = false;
  {
    const std::lock_guard lock(mutex_);
    given_up = std::exchange(given_up_, false);
  }
  if (!own_) return true;
  if (given_up) own_->over = {"its requester was told that nothing changes"};
  if (v.run && v.run->value == own_->order) { // it was committed, but the response was lost
    own_.reset();
    return false;
  }
  const bool there = v.order && v.order->created == own_->created;
  if (!there)
    finish({"it was cancelled, or etcd has lost it"});
  else if (auto why = wrong_by_now(v, now); !why.empty())
    withdraw(std::move(why));
  else if (own_->agreed && beam_allows(now))
    commit(v);
  else
    return true;
  return false;
}

/// Why the own proposal must end; empty if it continues and may be accepted now.
std::vector<std::string> farm_member::wrong_by_now(const farm_view& v, time_point now) {
  if (!own_->over.empty()) return own_->over;
  const auto age = now - own_->begun;
  const bool start = own_->order.start;
  if (start)
    if (auto reasons = refusals(v, age > answer_patience); !reasons.empty()) return reasons;
  if (!own_->agreed && (!start || all_ready(v))) own_->agreed = accept();
  if (age <= pause_patience || beam_allows(now)) return {};
  return {fmt::format("the beam did not pause within {} s, or etcd was too slow to report the "
                      "pause; nothing has changed",
                      pause_patience.count())};
}

/// Tells the person that all nodes are ready. Returns false if the person was already told that
/// nothing happens.
bool farm_member::accept() {
  const std::lock_guard lock(mutex_);
  if (given_up_) return false;
  if (wish_ && !answer_) answer_.emplace();
  answered_now_.notify_all();
  return true;
}

/// The reasons of the nodes that refuse, once all have answered or their time is over. A node that
/// has gone is reported at once. A node's answer is removed with its lease. A node that was ready,
/// lost its connection and joined again is not asked again.
std::vector<std::string> farm_member::refusals(const farm_view& v, bool late) const {
  std::vector<std::string> gone;
  std::vector<std::string> reasons;
  std::size_t answers = 0;
  for (const auto& [node, instance] : own_->order.nodes) {
    const auto m = v.members.find(node);
    if (m == v.members.end() || m->second.value.instance != instance) {
      gone.push_back(fmt::format("node {} left or died while the run was being prepared", node));
      continue;
    }
    const farm_reply* r = reply_of(node, v);
    answers += r != nullptr ? 1 : 0;
    if (r == nullptr && own_->agreed)
      gone.push_back(fmt::format("node {} was ready, but etcd has lost its reply", node));
    else if (r == nullptr && late)
      reasons.push_back(
          fmt::format("node {} did not answer within {} s", node, answer_patience.count()));
    for (const std::string& why : r != nullptr ? r->reasons : std::vector<std::string>())
      reasons.push_back(fmt::format("node {}: {}", node, why));
  }
  if (!gone.empty()) return gone;
  return late || answers == own_->order.nodes.size() ? reasons : gone;
}

const farm_reply* farm_member::reply_of(std::uint32_t node, const farm_view& v) const {
  const auto r = v.replies.find(node);
  if (r == v.replies.end()) return nullptr;
  const farm_reply& reply = r->second.value;
  const bool fits = reply.order == own_->created && reply.instance == own_->order.nodes.at(node);
  return fits ? &reply : nullptr;
}

bool farm_member::all_ready(const farm_view& v) const {
  return std::ranges::all_of(own_->order.nodes, [&](const auto& n) {
    const farm_reply* r = reply_of(n.first, v);
    return r != nullptr && r->reasons.empty();
  });
}

/// Commits the order in one change, on condition that each node is present and ready. A stop needs
/// no answers.
void farm_member::commit(const farm_view& v) {
  const proposal& p = *own_;
  std::vector<etcd_condition> only_if{{key(farm_keys::order), true, p.created},
                                      {key(farm_keys::now), false, v.run_changed()}};
  if (p.order.start)
    for (const auto& [node, instance] : p.order.nodes) {
      only_if.push_back({key_of(farm_keys::members, node), true, v.members.at(node).created});
      only_if.push_back({key_of(farm_keys::armed, node), false, v.replies.at(node).changed});
    }
  const bool held =
      etcd_.change(only_if, {{etcd_step::kind::put, key(farm_keys::now), written(p.order), 0},
                             {etcd_step::kind::remove, key(farm_keys::order), {}, 0},
                             {etcd_step::kind::remove_all, key(farm_keys::armed), {}, 0}});
  if (!held) return; // the next round finds out what has changed
  std::vector<std::uint32_t> nodes;
  for (const auto& [node, instance] : p.order.nodes) nodes.push_back(node);
  log_info("farm: {} is ordered on nodes {}",
           p.order.start ? fmt::format("run {}", p.order.number) : "the end of all runs",
           fmt::join(nodes, ", "));
  const std::int64_t lease = p.lease;
  own_.reset();
  etcd_.revoke(lease);
}

void farm_member::withdraw(std::vector<std::string> reasons) {
  own_->over = reasons; // kept even if etcd does not respond now
  static_cast<void>(etcd_.change({{key(farm_keys::order), true, own_->created}},
                                 {{etcd_step::kind::remove, key(farm_keys::order), {}, 0},
                                  {etcd_step::kind::remove_all, key(farm_keys::armed), {}, 0}}));
  const std::int64_t lease = own_->lease;
  finish(std::move(reasons));
  etcd_.revoke(lease);
}

/// Ends a proposal that was withdrawn.
void farm_member::finish(std::vector<std::string> reasons) {
  const bool stop = !own_->order.start;
  const std::string failure =
      fmt::format("{}: {}", stop ? "the stop" : fmt::format("run {}", own_->order.number),
                  fmt::join(reasons, "; "));
  log_warning("farm: {}", failure);
  const bool was_agreed = own_->agreed; // then its requester has an answer
  own_.reset();
  if (!was_agreed) answer(std::move(reasons));
  const std::lock_guard lock(mutex_);
  report_.failure = failure;
}

} // namespace l3
