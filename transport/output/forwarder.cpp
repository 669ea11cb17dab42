// SPDX-License-Identifier: Apache-2.0
#include "transport/output/forwarder.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include <zmq.hpp>

#include "transport/link/link_message.hpp"
#include "transport/output/link_connection.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t nanoseconds(std::chrono::nanoseconds t) {
  return static_cast<std::uint64_t>(t.count());
}

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t retry_time = nanoseconds(1s); ///< between hellos
/// The news of a connection may come before ZeroMQ takes messages for it.
constexpr std::uint64_t quick_retry_time = nanoseconds(5ms);
constexpr std::uint64_t hold_retry_time = nanoseconds(100ms); ///< a source could not give a block
constexpr std::uint64_t heartbeat_time = nanoseconds(1s);     ///< of silence
/// Then nobody is there. The status that says so is half a second old at most: 3 s in all.
constexpr std::uint64_t silence_limit = nanoseconds(2400ms);
constexpr std::uint64_t longest_wait = nanoseconds(1s);

} // namespace

forwarder::forwarder(const forward_settings& settings, block_source& from, line_pace& pace,
                     line_pace::share share, report_function report)
    : settings_(settings), source_(from), pace_(pace), share_(share),
      delivery_(from, settings.to, std::move(report)) {
  try {
    link_ = std::make_unique<line_link>(settings);
    connect_once();
  } catch (const zmq::error_t& e) {
    throw std::invalid_argument("cannot send to " + settings.to + ": " + e.what());
  }
}

forwarder::~forwarder() = default;

/// Without a lane there is nothing to say to anybody.
void forwarder::connect_once() {
  if (delivery_.lane().session != 0) link_->connect_once();
}

bool forwarder::connected() const {
  return delivery_.is_welcome() && steady_now() < delivery_.answered_at() + silence_limit;
}

void forwarder::drain_until(std::chrono::steady_clock::time_point deadline) {
  drain_until_ = nanoseconds(deadline.time_since_epoch());
}

void forwarder::run(std::stop_token stop, std::chrono::nanoseconds drain_time_limit) {
  const std::stop_callback wake(stop, [this] { source_.wake(); });
  std::uint64_t deadline = never;
  while (true) {
    const std::uint64_t now = steady_now();
    turns_.add();
    take_link_events();
    take_messages(now);
    if (stop.stop_requested()) {
      if (deadline == never)
        deadline = std::min(now + nanoseconds(drain_time_limit), drain_until_.load());
      while (leave_lane(now)) {
      }
      if (source_.blocks_waiting() == 0 || now >= deadline) break;
    }
    wait_until(std::min(act(now), deadline), now);
  }
  const std::uint64_t now = steady_now();
  if (delivery_.leave() && source_.blocks_waiting() == 0) {
    send(line_message::goodbye, source_.last_stored(), {}, now);
  }
}

void forwarder::take_link_events() {
  const auto news =
      link_->take_events([this](std::string text) { delivery_.report_once(std::move(text)); });
  if (news.any) delivery_.connection_changed(news.down);
}

void forwarder::take_messages(std::uint64_t now) {
  while (const auto got = link_->receive())
    delivery_.take(got->header, got->body.to_string_view(), now);
}

/// When all of a lane is stored: its session ends, and that of the next begins, if there is one.
bool forwarder::leave_lane(std::uint64_t now) {
  const std::uint64_t stored = source_.last_stored();
  if (source_.last_sealed() != stored || !source_.next_lane()) return false;
  if (delivery_.leave()) send(line_message::goodbye, stored, {}, now);
  delivery_.begin_lane();
  connect_once();
  return true;
}

/// Does what is due and says when the next thing will be.
std::uint64_t forwarder::act(std::uint64_t now) {
  leave_lane(now);
  const block_identity& lane = delivery_.lane();
  if (!link_->is_up() || lane.session == 0) return never; // the link or the source wakes us
  if (now < delivery_.not_before()) return delivery_.not_before();
  if (!delivery_.is_welcome()) {
    const line_hello_body body{lane.run, lane.node};
    const bool sent = send(line_message::hello, source_.last_stored() + 1,
                           {reinterpret_cast<const char*>(&body), sizeof body}, now);
    delivery_.put_off(now + (sent ? retry_time : quick_retry_time));
    return delivery_.not_before();
  }

  const std::uint64_t patience = nanoseconds(settings_.acknowledge_time_limit);
  delivery_.go_back_after(patience, now);
  std::uint64_t due = send_blocks(now);
  if (now >= last_sent_at_ + heartbeat_time)
    send(line_message::heartbeat, source_.last_stored(), {}, now);
  if (delivery_.has_blocks_under_way()) due = std::min(due, delivery_.progress_at() + patience);
  return std::min(due, std::max(now, last_sent_at_) + heartbeat_time);
}

std::uint64_t forwarder::send_blocks(std::uint64_t now) {
  while (delivery_.may_send_next()) {
    if (const auto wait = pace_.wait(share_, now); wait.count() > 0) return now + nanoseconds(wait);
    if (!send_block(now)) return now + hold_retry_time;
  }
  return never; // an acknowledgement or a sealed block wakes us
}

bool forwarder::send_block(std::uint64_t now) {
  const auto block = source_.hold(delivery_.next());
  if (!block) return false;
  const auto head =
      make_line_header(line_message::block, delivery_.lane().session, delivery_.next());
  if (!link_->send(head, *block)) return false;
  pace_.sent(share_, block->bytes.size(), now);
  delivery_.sent_next(block->bytes.size(), now);
  last_sent_at_ = now;
  return true;
}

bool forwarder::send(line_message type, std::uint64_t sequence, std::string_view body,
                     std::uint64_t now) {
  last_sent_at_ = now;
  return link_->send(make_line_header(type, delivery_.lane().session, sequence), body);
}

void forwarder::wait_until(std::uint64_t due, std::uint64_t now) {
  const std::chrono::nanoseconds wait(due > now ? std::min(due - now, longest_wait) : 0);
  if (link_->wait(source_.wake_descriptor(), std::chrono::ceil<std::chrono::milliseconds>(wait)))
    source_.clear_wake();
}

} // namespace l3
