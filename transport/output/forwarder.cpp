// SPDX-License-Identifier: Apache-2.0
#include "transport/output/forwarder.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <zmq.hpp>

#include "transport/link/link_keys.hpp"
#include "transport/link/link_message.hpp"
#include "transport/output/lane_tokens.hpp"
#include "transport/output/link_connection.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;

constexpr auto retry_time = 1s; ///< between hellos
/// The news of a connection may come before ZeroMQ takes messages for it.
constexpr auto quick_retry_time = 5ms;
constexpr auto hold_retry_time = 100ms; ///< a source could not give a block
constexpr auto heartbeat_time = 1s;     ///< of silence
/// A receiver that is silent for longer is absent. The status that says so is at most half a second
/// old: 3 s in all.
constexpr auto silence_limit = 2400ms;
constexpr std::chrono::nanoseconds longest_wait = 1s;

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

forwarder::forwarder(const forward_settings& settings, block_source& from, link_pace& pace,
                     link_pace::share share, report_function report, const lane_tokens* tokens)
    : settings_(settings), source_(from), pace_(pace), share_(share), tokens_(tokens),
      window_(from, settings.to, std::move(report)) {
  try {
    link_ = std::make_unique<link_connection>(settings);
    connect_once();
  } catch (const zmq::error_t& e) {
    throw std::invalid_argument("cannot send to " + settings.to + ": " + e.what());
  }
}

forwarder::~forwarder() = default;

/// Without a lane there is nothing to say to anybody.
void forwarder::connect_once() {
  if (source_.lane().identity.session != 0) link_->connect_once();
}

bool forwarder::connected() const { return window_.is_welcome() && answers(); }

bool forwarder::answers() const {
  return steady_clock::now() < window_.answered_at() + silence_limit;
}

void forwarder::run(std::stop_token stop, std::chrono::nanoseconds drain_time_limit) {
  const std::stop_callback wake(stop, [this] { source_.bell().wake(); });
  time_point deadline = never;
  while (true) {
    const time_point now = steady_clock::now();
    turns_.add();
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
  const auto news =
      link_->take_events([&](std::string text) { window_.report_once(std::move(text), now); });
  if (news.any) window_.connection_changed(news.down, now);
  while (const auto got = link_->receive())
    window_.take(got->header, got->body.to_string_view(), now);
}

/// When all of a lane is stored: its session ends, and that of the next begins, if there is one.
bool forwarder::leave_lane(time_point now) {
  const lane_state ended = source_.lane();
  if (!all_stored() || !source_.next_lane()) return false;
  if (window_.leave()) send(link_message::goodbye, ended, {}, now);
  window_.begin_lane();
  connect_once();
  return true;
}

bool forwarder::all_stored() const {
  const lane_state lane = source_.lane();
  return lane.sealed == lane.stored;
}

/// Does what is due and says when the next thing will be.
time_point forwarder::act(time_point now) {
  leave_lane(now);
  const lane_state lane = source_.lane();
  if (!link_->is_up() || lane.identity.session == 0)
    return never; // the link or the source wakes us
  if (now < window_.not_before()) return window_.not_before();
  if (!window_.is_welcome()) {
    window_.put_off(now + (say_hello(lane, now) ? retry_time : quick_retry_time));
    return window_.not_before();
  }

  const auto patience = settings_.acknowledge_time_limit;
  window_.go_back_after(patience, now);
  time_point due = send_blocks(now);
  if (now >= last_sent_at_ + heartbeat_time) send(link_message::heartbeat, source_.lane(), {}, now);
  if (window_.has_blocks_under_way()) due = std::min(due, window_.progress_at() + patience);
  return std::min(due, std::max(now, last_sent_at_) + heartbeat_time);
}

bool forwarder::say_hello(const lane_state& lane, time_point now) {
  link_proof_body body{{lane.identity.run, lane.identity.node}, {}};
  const auto* const token = tokens_ != nullptr ? tokens_->find(lane.identity.session) : nullptr;
  if (token != nullptr) body.token = *token;
  return send(link_message::hello, lane,
              {reinterpret_cast<const char*>(&body),
               token != nullptr ? sizeof body : sizeof(link_hello_body)},
              now);
}

time_point forwarder::send_blocks(time_point now) {
  while (window_.may_send_next()) {
    if (const auto wait = pace_.wait(share_, now); wait.count() > 0) return now + wait;
    if (!send_block(now)) return now + hold_retry_time;
  }
  return never; // an acknowledgement or a sealed block wakes us
}

bool forwarder::send_block(time_point now) {
  const auto block = source_.hold(window_.next());
  if (!block) return false;
  if (window_.next_is_new() && !source_.may_send(window_.next(), now)) return false;
  const auto head =
      make_link_header(link_message::block, source_.lane().identity.session, window_.next());
  if (!link_->send(head, block)) return false;
  pace_.sent(share_, block.bytes.size(), now);
  window_.sent(block, now);
  last_sent_at_ = now;
  return true;
}

/// Speaks for `lane`: a hello names the first block that it has, other messages the last stored.
bool forwarder::send(link_message type, const lane_state& lane, std::string_view body,
                     time_point now) {
  last_sent_at_ = now;
  const std::uint64_t sequence = lane.stored + (type == link_message::hello ? 1 : 0);
  return link_->send(make_link_header(type, lane.identity.session, sequence), body);
}

void forwarder::wait_until(time_point due, time_point now) {
  const auto wait = std::clamp<std::chrono::nanoseconds>(due - now, 0ns, longest_wait);
  if (link_->wait(source_.bell().descriptor(), std::chrono::ceil<std::chrono::milliseconds>(wait)))
    source_.bell().clear();
}

} // namespace l3
