// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/forwarder.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>

#include <zmq.hpp>

#include "transport/link/link_keys.hpp"
#include "transport/link/link_message.hpp"
#include "transport/outbox/link_connection.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;

constexpr auto retry_time = 1s; ///< between hellos
/// The event of a connection may come before ZeroMQ accepts messages for it.
constexpr auto quick_retry_time = 5ms;
constexpr auto hold_retry_time = 100ms; ///< a source could not give a block
constexpr auto way_retry_time = 2ms;    ///< all connections had enough to send
constexpr auto heartbeat_time = 1s;     ///< of silence
/// A receiver that runs answers in this time. The system of one that is stopped takes bytes, too.
constexpr auto time_to_answer = 250ms;
constexpr auto ask_time = 250ms; ///< between two checks whether a connection lives
/// After this silence the receiver counts as absent. The status that reports it is at most half a
/// second old: 3 s in all.
constexpr auto silence_limit = 2400ms;
constexpr auto slow_for = 4s; ///< after a silence: a slow disk causes the next one
constexpr std::chrono::nanoseconds longest_wait = 1s;
constexpr auto shortest_stop = 500ms; ///< of this thread or its process
/// The forwarder takes this many messages from a connection and then does other work, because a
/// receiver may send without a pause.
constexpr int messages_in_a_turn = 256;
/// How long a connection may lead to another receiver than the others before it is reported. After
/// a receiver's restart, not all connections are known to be broken at first.
constexpr auto longest_unsettled = 4s;

/// A random number for each process, never 0.
std::uint16_t mark_of_process() {
  static const auto mark = static_cast<std::uint16_t>(1 + std::random_device()() % 65535);
  return mark;
}

} // namespace

std::string wrong_with_keys(const forward_settings& settings) {
  const auto wrong = [](const char* setting, const std::string& file, auto read) -> std::string {
    try {
      if (!file.empty()) static_cast<void>(read(file));
      return {};
    } catch (const std::runtime_error& e) {
      return std::string(setting) + ": " + e.what();
    }
  };
  const std::string secret = wrong("forward.secret_key", settings.secret_key, read_secret_key);
  return secret.empty() ? wrong("forward.receiver_key", settings.receiver_key, read_public_key)
                        : secret;
}

struct forwarder::way {
  way(std::size_t its_number, const link_way& its, std::unique_ptr<link_connection> its_link)
      : number(its_number), from(its.from), to(its.to), link(std::move(its_link)) {}

  std::size_t number;
  std::string from; ///< local address; empty: chosen by the system
  std::string to;
  std::unique_ptr<link_connection> link;
  bool is_welcome = false;            ///< the receiver welcomed the lane over this connection
  time_point empty_since;             ///< the receiver's system has all bytes of a question
  bool has_all = false;               ///< it has had them for some time, without an answer
  time_point hello_at;                ///< when the next hello is due
  time_point asked_at;                ///< when it was last checked
  time_point elsewhere_since = never; ///< since when it has led to another receiver than the lane's

  [[nodiscard]] bool is_elsewhere() const { return elsewhere_since != never; }
  [[nodiscard]] std::string text() const { return from.empty() ? to : to + " from " + from; }
};

forwarder::forwarder(const forward_settings& settings, block_source& from, link_pace& pace,
                     link_pace::share share, report_function report)
    : settings_(settings), source_(from), pace_(pace), share_(share),
      window_(from, settings.to, std::move(report), ways_of(settings).size()) {
  try {
    for (const link_way& w : ways_of(settings)) {
      auto link = std::make_unique<link_connection>(settings, w);
      ways_.emplace_back(ways_.size(), w, std::move(link));
    }
    connect_once();
  } catch (const zmq::error_t& e) {
    throw std::invalid_argument("cannot send to " + settings.to + ": " + e.what());
  }
}

forwarder::~forwarder() = default;

/// Without a lane there is nothing to send.
void forwarder::connect_once() {
  if (source_.lane().identity.session == 0) return;
  for (way& w : ways_) w.link->connect_once();
}

bool forwarder::connected() const { return window_.is_welcome() && answers(); }

bool forwarder::answers() const {
  const time_point read_up_to = turned_at_.load() + longest_wait; // not later if it was stopped
  return std::min(steady_clock::now(), read_up_to) < window_.answered_at() + silence_limit;
}

void forwarder::run(const std::stop_token& stop, std::chrono::nanoseconds drain_time_limit) {
  const std::stop_callback wake(stop, [this] { source_.bell().wake(); });
  time_point deadline = never;
  while (true) {
    const time_point now = steady_clock::now();
    turns_.add();
    const auto passed = now - turned_at_.exchange(now);
    if (passed > longest_wait + shortest_stop && turns_ != 1) window_.bytes_flow(now);
    take_news(now);
    if (stop.stop_requested()) {
      if (deadline == never) deadline = std::min(now + drain_time_limit, drain_until_.load());
      while (leave_lane(now)) {
      }
      if (all_stored() || now >= deadline) break;
    }
    wait_until(std::min(act(now), deadline), now);
  }
  const time_point now = steady_clock::now();
  if (window_.leave() && all_stored()) send(link_message::goodbye, source_.lane(), {}, now);
}

void forwarder::take_news(time_point now) {
  for (way& w : ways_) take_news(w, now);
  window_.leave_silent_ways(now);
  const auto of_unknown =
      std::ranges::find_if(ways_, [](const way& w) { return w.link->unknown().has_value(); });
  std::optional<unknown_receiver> found;
  if (of_unknown != ways_.end() && !window_.is_welcome()) found = of_unknown->link->unknown();
  const std::lock_guard lock(unknown_mutex_);
  if (unknown_ != found) unknown_ = std::move(found);
}

std::optional<unknown_receiver> forwarder::unknown() const {
  const std::lock_guard lock(unknown_mutex_);
  return unknown_;
}

void forwarder::take_news(way& of, time_point now) {
  const auto news =
      of.link->take_events([&](std::string text) { window_.report_once(std::move(text), now); });
  if (news.any) {
    of.hello_at = {};
    not_welcome(of, news.down, now);
  }
  const auto line = of.link->look_at_line();
  if (!asked_ || !line.is_empty) of.empty_since = now;
  of.has_all = of.has_all || now - of.empty_since >= time_to_answer;
  if (line.flows && !of.has_all) window_.bytes_flow(now);
  for (int taken = 0; taken < messages_in_a_turn; ++taken) {
    const auto got = of.link->receive();
    if (!got) break;
    window_.heard(of.number);
    take(of, got->header, got->body.to_string_view(), now);
  }
}

/// Nothing is sent over it until the receiver has welcomed the lane there again.
void forwarder::not_welcome(way& any_more, bool broke, time_point now) {
  any_more.is_welcome = false;
  any_more.elsewhere_since = never;
  if (others_are_welcome(any_more)) {
    if (broke)
      window_.report_once("the connection to " + settings_.to + " from " + any_more.from +
                              " broke; other connections remain",
                          now);
    return window_.lost(any_more.number);
  }
  const bool is_late = now >= window_.answered_at() + silence_limit;
  if (broke && window_.is_welcome() && is_late) stalled_ = true;
  window_.connection_changed(broke, now);
}

bool forwarder::others_are_welcome(const way& than) const {
  return std::ranges::any_of(ways_,
                             [&](const way& w) { return w.number != than.number && w.is_welcome; });
}

void forwarder::take(way& from, const link_header& header, std::string_view body, time_point now) {
  if (header.session != source_.lane().identity.session) return;
  asked_ = false;
  for (way& w : ways_) w.has_all = false;
  const bool was_silent = stalled_.exchange(false) || window_.is_welcome();
  if (was_silent && now >= window_.answered_at() + silence_limit) slow_until_ = now + slow_for;
  const bool one_more = window_.is_welcome() && others_are_welcome(from);
  const auto answer = read_answer(std::as_bytes(std::span(body)));
  const std::uint32_t receiver = answer ? answer->receiver : 0;
  if (header.type == link_message::welcome && one_more) {
    if (receiver != receiver_) {
      from.elsewhere_since = std::min(from.elsewhere_since, now);
      from.hello_at = never; // never: until one of the connections breaks
      return;
    }
    from.elsewhere_since = never;
    window_.joined(header, body, now);
    from.is_welcome = true;
    return;
  }
  if (from.is_elsewhere() && window_.is_welcome()) return;
  if (header.type == link_message::refusal && body.empty() && one_more) {
    if (std::exchange(from.is_welcome, false)) from.hello_at = {};
    return window_.lost(from.number);
  }
  window_.take(header, body, now);
  if (header.type == link_message::welcome) {
    receiver_ = receiver;
    from.elsewhere_since = never;
    from.is_welcome = window_.is_welcome();
  }
  if (!window_.is_welcome() && std::exchange(from.is_welcome, false)) from.hello_at = {};
}

/// Ends a completely stored lane and its session, and begins the next one, if there is one.
bool forwarder::leave_lane(time_point now) {
  const lane_state ended = source_.lane();
  if (!all_stored() || !source_.next_lane()) return false;
  if (window_.leave()) send(link_message::goodbye, ended, {}, now);
  window_.begin_lane();
  for (way& w : ways_) {
    w.is_welcome = false;
    w.hello_at = {};
    w.elsewhere_since = never;
  }
  connect_once();
  return true;
}

bool forwarder::all_stored() const {
  const lane_state lane = source_.lane();
  return lane.sealed == lane.stored;
}

/// Does what is due and returns when the next action is due.
time_point forwarder::act(time_point now) {
  leave_lane(now);
  const lane_state lane = source_.lane();
  if (lane.identity.session == 0) return never; // the source wakes this thread
  if (now < window_.not_before()) return window_.not_before();
  const time_point hello_due = say_hellos(lane, now);
  if (!window_.is_welcome()) return hello_due; // or the link wakes this thread

  ask_silent_ways(now);
  tell_of_other_receivers(now);
  const auto patience = settings_.acknowledge_time_limit;
  window_.go_back_after(patience, now);
  time_point due = std::min(hello_due, send_blocks(now));
  if (now >= last_sent_at_ + heartbeat_time) send(link_message::heartbeat, source_.lane(), {}, now);
  if (window_.has_blocks_under_way()) due = std::min(due, window_.go_back_at(patience));
  return std::min(due, std::max(now, last_sent_at_) + heartbeat_time);
}

/// An answer makes a suspected connection usable again.
void forwarder::ask_silent_ways(time_point now) {
  for (way& w : ways_) {
    if (!w.is_welcome || !window_.is_suspect(w.number) || now < w.asked_at + ask_time) continue;
    w.asked_at = now;
    send(w, link_message::heartbeat, source_.lane(), {}, now);
  }
}

void forwarder::tell_of_other_receivers(time_point now) {
  const auto lanes = std::ranges::find_if(ways_, [](const way& w) { return w.is_welcome; });
  for (const way& w : ways_)
    if (w.is_elsewhere() && now - w.elsewhere_since > longest_unsettled && lanes != ways_.end())
      window_.report_once("the connection to " + w.text() +
                              " reaches a different receiver than the one to " + lanes->text() +
                              ": it is not used while that receiver is connected (forward.from)",
                          now);
}

/// Says hello over each connection that is up but not welcome. Returns when the next one is due. A
/// connection to another receiver is not used while the lane has a receiver, and is as good as any
/// otherwise.
time_point forwarder::say_hellos(const lane_state& lane, time_point now) {
  time_point due = never;
  for (way& w : ways_) {
    if (w.is_elsewhere() && !window_.is_welcome()) {
      w.elsewhere_since = never;
      w.hello_at = {};
    }
    if (!w.link->is_up() || w.is_welcome) continue;
    if (now >= w.hello_at)
      w.hello_at = now + (say_hello(w, lane, now) ? retry_time : quick_retry_time);
    due = std::min(due, w.hello_at);
  }
  return due;
}

bool forwarder::say_hello(way& over, const lane_state& lane, time_point now) {
  const link_hello_body body{lane.identity.run, lane.identity.node};
  last_sent_at_ = now;
  // It names the daemon's first block.
  return over.link->send(
      make_hello_header(lane.identity.session, lane.stored + 1, mark_of_process()),
      std::string_view(reinterpret_cast<const char*>(&body), sizeof body));
}

time_point forwarder::send_blocks(time_point now) {
  while (window_.may_send_next()) {
    if (const auto wait = pace_.wait(share_, now); wait.count() > 0) return now + wait;
    way* const over = next_way();
    if (over == nullptr) return now + way_retry_time;
    if (!send_block(*over, now)) return now + hold_retry_time;
  }
  return never; // an acknowledgement or a sealed block wakes this thread
}

bool forwarder::send_block(way& over, time_point now) {
  const auto block = source_.hold(window_.next());
  if (!block) return false;
  const std::uint64_t session = source_.lane().identity.session;
  const auto head = make_link_header(link_message::block, session, window_.next());
  if (!over.link->send(head, block)) return false;
  pace_.sent(share_, block.bytes.size(), now);
  window_.sent(block, now, over.number);
  last_sent_at_ = now;
  asked_ = true;
  return true;
}

/// Sends a message of `lane` with the last stored block.
bool forwarder::send(way& over, link_message type, const lane_state& lane, std::string_view body,
                     time_point now) {
  last_sent_at_ = now;
  asked_ = true;
  return over.link->send(make_link_header(type, lane.identity.session, lane.stored), body);
}

/// Uses the connections in turn, because one may be dead without being known to be.
bool forwarder::send(link_message type, const lane_state& lane, std::string_view body,
                     time_point now) {
  for (std::size_t n = 1; n <= ways_.size(); ++n) {
    way& w = ways_[(last_way_ + n) % ways_.size()];
    if (!w.is_welcome) continue;
    last_way_ = w.number;
    return send(w, type, lane, body, now);
  }
  return false;
}

/// The connection for the next block; null if all have enough to send.
forwarder::way* forwarder::next_way() {
  std::array<bool, most_link_ways> welcome{};
  for (const way& w : ways_) welcome[w.number] = w.is_welcome;
  const auto chosen = window_.choose_way(welcome);
  return chosen ? &ways_[*chosen] : nullptr;
}

void forwarder::wait_until(time_point due, time_point now) {
  const auto wait = std::clamp<std::chrono::nanoseconds>(due - now, 0ns, longest_wait);
  std::array<link_connection*, most_link_ways> all{};
  for (const way& w : ways_) all[w.number] = w.link.get();
  if (link_connection::wait(std::span(all).first(ways_.size()), source_.bell().descriptor(),
                            std::chrono::ceil<std::chrono::milliseconds>(wait)))
    source_.bell().clear();
}

} // namespace l3
