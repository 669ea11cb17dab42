// SPDX-License-Identifier: Apache-2.0
#include "daemon/farm/farm_member.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "monitor/log.hpp"
#include "transport/link/link_keys.hpp"
#include "transport/system/threads.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr auto lease_time = 10s; ///< the other nodes notice after this time that a daemon has gone
constexpr auto keep_every = 2s;
constexpr auto round_every = 250ms;
constexpr auto shortest_round = 50ms; ///< even if it is woken more often
constexpr auto cut_off_after = 3s;
constexpr auto ask_patience = 8s;

etcd_settings settings_of(const farm_settings& s) {
  etcd_settings e;
  e.at = s.etcd;
  e.user = s.user;
  if (!s.password.empty()) e.password = read_secret_line(s.password);
  return e;
}

farm_run_report report_of(const farm_order& o) { return {o.number, o.menu, o.comment}; }

} // namespace

farm_standing standing_of(const farm_member_value& is, const std::optional<farm_order>& known) {
  const bool right = !known || (known->start ? is.run == known->number && is.state == "running" &&
                                                   is.serial >= known->serial
                                             : is.state == "configured");
  return right ? farm_standing::in_order : farm_standing::apart;
}

farm_member::farm_member(const farm_settings& settings, farm_node& node)
    : settings_(settings), node_(node), etcd_(settings_of(settings)),
      spoke_at_(steady_clock::now()) {
  report_.text = "etcd has not answered yet";
  thread_ = std::jthread([this] {
    name_this_thread("farm");
    work();
  });
}

farm_member::~farm_member() {
  leave();
  thread_.join();
}

std::vector<std::string> farm_member::ask(const farm_wish& wish) {
  std::unique_lock lock(mutex_);
  if (report_.state != farm_state::joined) return {report_.text};
  if (wish_) return {"another start or stop is under way on this node"};
  wish_ = wish;
  answer_.reset();
  wake();
  if (!answered_now_.wait_for(lock, ask_patience, [&] { return answer_.has_value(); })) {
    given_up_ = true;
    wish_.reset();
    return {fmt::format(
        "etcd did not complete the request within {} s; no node begins or ends a run. {}",
        ask_patience.count(), report_.text)};
  }
  wish_.reset();
  return *answer_;
}

farm_report farm_member::now() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

void farm_member::beam(bool pauses) {
  const std::lock_guard lock(mutex_);
  if (pause_seen_ && pauses == pauses_) return;
  pause_seen_ = true;
  pauses_ = pauses;
  pauses_since_ = steady_clock::now();
  if (pauses) wake();
}

void farm_member::leave() {
  const std::lock_guard lock(mutex_);
  leaves_ = true;
  wake();
}

// --- the thread ---

void farm_member::work() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (leaves_) break;
    }
    const time_point begun = steady_clock::now();
    try {
      round();
    } catch (const std::exception& e) { // etcd_error, or another error that must not end the daemon
      note(nullptr, e.what());
    }
    std::this_thread::sleep_until(begun + shortest_round);
    wait();
  }
  go();
}

/// Waits until a request comes, the beam pauses, or the period is over.
void farm_member::wait() {
  std::unique_lock lock(mutex_);
  if ((wish_ && !answer_ && !own_) || leaves_) return;
  woken_now_.wait_for(lock, round_every, [&] { return woken_; });
  woken_ = false;
}

/// Call it with the mutex locked.
void farm_member::wake() {
  woken_ = true;
  woken_now_.notify_one();
}

void farm_member::round() {
  const time_point now = steady_clock::now();
  keep_lease(now);
  const farm_view v =
      read_view(settings_.prefix,
                etcd_.read({key(farm_keys::members), key(farm_keys::nodes), key(farm_keys::runs)},
                           farm_limits::keys));
  has_spoken_ = true;
  spoke_at_ = steady_clock::now();
  if (v.run && (!known_ || v.run->value.serial > known_->serial)) known_ = v.run->value;
  take_place(v);
  if (place_ != 0) {
    follow();
    tell_how_it_is(v);
    answer_order(v);
    if (pursue(v, steady_clock::now())) take_wish(v, steady_clock::now());
  }
  note(&v, {});
}

void farm_member::keep_lease(time_point now) {
  if (lease_ != 0 && now - kept_at_ < keep_every) return;
  if (lease_ != 0 && !etcd_.keep_alive(lease_)) {
    log_warning(
        "farm: this node's lease in etcd expired, or etcd lost its data; the node joins again");
    lease_ = place_ = 0;
  }
  if (lease_ == 0) lease_ = etcd_.grant(lease_time);
  kept_at_ = steady_clock::now();
}

/// Creates this node's key if it is missing: at the start, and after its lease expired.
void farm_member::take_place(const farm_view& v) {
  const std::string name = key_of(farm_keys::members, node_.number());
  const auto mine = v.members.find(node_.number());
  const farm_member_value& is = node_.now();
  etcd_condition condition{name, false, 0};
  if (mine != v.members.end()) {
    const farm_member_value& there = mine->second.value;
    if (there.instance == is.instance && mine->second.created == place_) return;
    const bool gone =
        there.instance == is.instance || (!is.place.empty() && there.place == is.place);
    if (!gone) {
      place_ = 0;
      same_node_ = fmt::format("the farm already has a node {}: process {} on {}; give each daemon "
                               "its own run.node, or wait {} s if that one has died",
                               node_.number(), there.process, there.host, lease_time.count());
      return;
    }
    condition.revision = mine->second.changed; // left by an earlier process
  }
  place_ = 0;
  farm_member_value value = is;
  value.serial = in_force_;
  const std::string text = written(value);
  const std::string registered = key_of(farm_keys::nodes, node_.number());
  // Overwriting a key keeps its creation revision, so it is removed first.
  if (condition.revision != 0 &&
      !etcd_.change({condition}, {{etcd_step::kind::remove, name, {}, 0}}))
    return;
  condition.revision = 0;
  if (!etcd_.change({condition}, {{etcd_step::kind::put, name, text, lease_},
                                  {etcd_step::kind::put, registered, is.instance, 0}}))
    return;
  const auto found = etcd_.read({name}, 1);
  if (found[0].keys.empty() || found[0].keys[0].name != name) return;
  place_ = found[0].keys[0].created;
  answered_ = 0; // the lease that held the answer has expired
  told_ = text;
  same_node_.clear();
  log_info("farm: node {} has joined, by etcd at {}", node_.number(), etcd_.address());
  const std::lock_guard lock(mutex_);
  ++report_.joined;
}

void farm_member::tell_how_it_is(const farm_view& v) {
  farm_member_value value = node_.now();
  if (why_apart_.empty() && !node_.waits_for_pause()) in_force_ = followed_;
  value.serial = in_force_;
  if (!why_apart_.empty()) value.failure = why_apart_;
  std::string text = written(value);
  const std::string name = key_of(farm_keys::members, node_.number());
  const bool registered = v.nodes.contains(node_.number());
  if (text == told_ && registered) return;
  std::vector<etcd_step> steps{{etcd_step::kind::put, name, text, lease_}};
  if (!registered) // another node continued without this one
    steps.push_back(
        {etcd_step::kind::put, key_of(farm_keys::nodes, node_.number()), value.instance, 0});
  if (etcd_.change({{name, true, place_}}, steps)) told_ = std::move(text);
}

/// Follows the farm's current order, once.
void farm_member::follow() {
  // A run that a person began here while etcd was absent continues.
  if (!std::exchange(has_followed_, true) && known_ && node_.now().state != "configured")
    followed_ = known_->serial;
  if (!known_ || known_->serial == followed_) return;
  followed_ = known_->serial;
  why_apart_.clear();
  if (!known_->start) {
    node_.stop();
    return;
  }
  why_apart_ = node_.begin(*known_);
  if (!why_apart_.empty())
    log_error("farm: run {} does not begin on this node: {}", known_->number, why_apart_);
  else if (!known_->nodes.contains(node_.number()))
    log_info("farm: run {} began before this node joined; it begins here now", known_->number);
}

/// Answers whether this node is ready for the proposed order.
void farm_member::answer_order(const farm_view& v) {
  if (!v.order || v.order->created == answered_) return;
  const farm_order& o = v.order->value;
  const auto asked = o.nodes.find(node_.number());
  if (asked == o.nodes.end() || asked->second != node_.instance() || !o.start) return;
  farm_reply reply{asked->second, v.order->created, node_.reasons_against(o)};
  if (reply.reasons.size() > farm_limits::reasons) reply.reasons.resize(farm_limits::reasons);
  const bool held = etcd_.change(
      {{key(farm_keys::order), true, v.order->created},
       {key_of(farm_keys::members, node_.number()), true, place_}},
      {{etcd_step::kind::put, key_of(farm_keys::armed, node_.number()), written(reply), lease_}});
  if (held) answered_ = v.order->created;
}

/// Removes this node's key, so that the others need not wait until its lease expires.
void farm_member::go() {
  try {
    if (own_) withdraw({"the daemon ends"});
    if (place_ != 0)
      static_cast<void>(etcd_.change(
          {{key_of(farm_keys::members, node_.number()), true, place_}},
          {{etcd_step::kind::remove, key_of(farm_keys::members, node_.number()), {}, 0},
           {etcd_step::kind::remove, key_of(farm_keys::nodes, node_.number()), {}, 0}}));
    if (lease_ != 0) etcd_.revoke(lease_);
  } catch (const std::exception& e) {
    log_warning("farm: this node could not announce that it leaves: {}", e.what());
  }
  {
    const std::lock_guard lock(mutex_);
    report_.state = farm_state::left;
    report_.text = "the daemon ends";
  }
  answer({"the daemon ends"}); // later requests see the state
}

/// Updates the report after each round.
void farm_member::note(const farm_view* v, const std::string& trouble) {
  farm_report next = now();
  const auto silent = steady_clock::now() - spoke_at_;
  if (v == nullptr) {
    ++next.failed_rounds;
    if (!has_spoken_ || silent > cut_off_after) {
      next.state = has_spoken_ ? farm_state::cut_off : farm_state::joining;
      next.text = fmt::format("{}; an active run continues, but no run can begin or end on all "
                              "nodes (koto-l3 run start --here begins one on this node)",
                              trouble);
    }
  } else {
    next.state = place_ != 0 ? farm_state::joined : farm_state::refused;
    next.text.clear();
    if (place_ == 0) next.text = same_node_.empty() ? "it has not joined yet" : same_node_;
    next.run.reset();
    next.order.reset();
    if (known_ && known_->start) next.run = report_of(*known_);
    if (v->order && v->order->value.start) next.order = report_of(v->order->value);
    next.nodes.clear();
    for (const auto& [number, m] : v->members) {
      const farm_member_value& is = m.value;
      next.nodes.push_back(
          {number, standing_of(is, known_), is.host, is.state, is.run, is.failure, is.not_well});
    }
    for (const std::uint32_t number : v->nodes)
      if (!v->members.contains(number)) next.nodes.push_back({number, {}, {}, {}, {}, {}, {}});
    for (farm_node_report& n : next.nodes)
      if (n.state.empty()) n.stands = farm_standing::missing;
    std::ranges::sort(next.nodes, {}, &farm_node_report::node);
    if (next.nodes.size() > farm_limits::nodes) next.nodes.resize(farm_limits::nodes);
  }
  const std::lock_guard lock(mutex_);
  next.failure = report_.failure;
  if (next.state != report_.state && next.state == farm_state::joined &&
      report_.state == farm_state::cut_off)
    log_info("farm: etcd answers again, at {}", etcd_.address());
  if (next.text != report_.text && !next.text.empty() && next.state != report_.state)
    log_warning("farm: {}", next.text);
  report_ = std::move(next);
}

} // namespace l3
