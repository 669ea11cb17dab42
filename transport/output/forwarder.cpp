// SPDX-License-Identifier: Apache-2.0
#include "transport/output/forwarder.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include <zmq.hpp>

#include "transport/output/line.hpp"
#include "transport/output/line_link.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t nanoseconds(std::chrono::nanoseconds t) {
  return static_cast<std::uint64_t>(t.count());
}

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t retry_time = nanoseconds(1s); ///< between hellos, and after a refusal
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
    : settings_(settings), source_(from), pace_(pace), share_(share), lane_(from.identity()),
      report_(std::move(report)) {
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
  if (lane_.session != 0) link_->connect_once();
}

bool forwarder::connected() const {
  return welcomed_.load(std::memory_order_relaxed) &&
         steady_now() < answered_at_.load(std::memory_order_relaxed) + silence_limit;
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
  if (welcomed_ && source_.blocks_waiting() == 0) {
    send(line_message::goodbye, source_.last_stored(), {}, now);
  }
  welcomed_ = false;
}

void forwarder::take_link_events() {
  const auto news = link_->take_events([this](std::string text) { report_once(std::move(text)); });
  if (!news.any) return;
  if (welcomed_.exchange(false) && news.down)
    report_once("the connection to " + settings_.to + " broke");
  not_before_ = 0;
}

void forwarder::take_messages(std::uint64_t now) {
  while (const auto got = link_->receive()) {
    if (got->header.session != lane_.session) continue;
    answered_at_ = now;
    take_message(got->header, got->body.to_string_view(), now);
  }
}

void forwarder::take_message(const line_header& header, std::string_view body, std::uint64_t now) {
  switch (header.type) {
  case line_message::welcome: return welcomed(header, now);
  case line_message::acknowledgement: return acknowledged(header, now);
  case line_message::refusal: return refused(body, now);
  default: return; // nothing that a receiver sends
  }
}

void forwarder::welcomed(const line_header& header, std::uint64_t now) {
  const bool more_than_there_is = header.sequence > source_.last_sealed();
  if (more_than_there_is && !source_.is_remainder()) {
    report_once("the receiver claims blocks that were never made");
    not_before_ = now + retry_time;
    return;
  }
  if (header.sequence < source_.last_stored()) {
    report_once(
        "the receiver no longer has blocks that were acknowledged: it stores elsewhere now");
  }
  if (welcomes_++ > 0) {
    counters_.reconnects.add();
    report_once("connected to " + settings_.to + " again");
  }
  welcomed_ = true;
  not_before_ = 0;
  window_ = std::max(header.credit, 1U);
  acknowledged(header, now);
  next_ = source_.last_stored() + 1;
  progress_at_ = now;
}

void forwarder::acknowledged(const line_header& header, std::uint64_t now) {
  const std::uint64_t before = source_.last_stored();
  const std::uint64_t sealed = source_.last_sealed();
  const std::uint64_t stored =
      source_.is_remainder() ? std::min(header.sequence, sealed) : header.sequence;
  if (stored <= before || stored > sealed) return;
  counters_.acknowledged.add(stored - before);
  source_.stored_up_to(stored, now);
  next_ = std::max(next_, stored + 1);
  window_ = std::max(header.credit, 1U);
  progress_at_ = now;
}

void forwarder::refused(std::string_view text, std::uint64_t now) {
  if (text.empty()) { // it does not know us: it was started anew
    if (welcomed_.exchange(false)) not_before_ = 0;
    return;
  }
  counters_.refusals.add();
  report_once("the receiver refuses: " + std::string(text));
  // Try again with a single block, until one is taken.
  next_ = source_.last_stored() + 1;
  window_ = 1;
  not_before_ = now + retry_time;
  progress_at_ = not_before_;
}

/// When all of a lane is stored: its session ends, and that of the next begins, if there is one.
bool forwarder::leave_lane(std::uint64_t now) {
  const std::uint64_t stored = source_.last_stored();
  if (source_.last_sealed() != stored || !source_.next_lane()) return false;
  if (welcomed_.exchange(false)) send(line_message::goodbye, stored, {}, now);
  lane_ = source_.identity();
  connect_once();
  highest_sent_ = source_.last_stored();
  next_ = highest_sent_ + 1;
  welcomes_ = 0;
  not_before_ = 0;
  return true;
}

/// Does what is due and says when the next thing will be.
std::uint64_t forwarder::act(std::uint64_t now) {
  leave_lane(now);
  if (!link_->is_up() || lane_.session == 0) return never; // the link or the source wakes us
  if (now < not_before_) return not_before_;
  if (!welcomed_) {
    const line_hello_body body{lane_.run, lane_.node};
    const bool sent = send(line_message::hello, source_.last_stored() + 1,
                           {reinterpret_cast<const char*>(&body), sizeof body}, now);
    return not_before_ = now + (sent ? retry_time : quick_retry_time);
  }

  const std::uint64_t first = source_.last_stored() + 1;
  const std::uint64_t patience = nanoseconds(settings_.acknowledge_time_limit);
  if (next_ > first && now >= progress_at_ + patience) {
    // A block that ZeroMQ still holds has not left: the connection stalls, and a second copy would
    // only stand behind it.
    if (!source_.is_held(first)) next_ = first;
    progress_at_ = now;
  }
  std::uint64_t due = send_blocks(now);
  if (now >= last_sent_at_ + heartbeat_time) send(line_message::heartbeat, first - 1, {}, now);
  if (next_ > first) due = std::min(due, progress_at_ + patience);
  return std::min(due, std::max(now, last_sent_at_) + heartbeat_time);
}

std::uint64_t forwarder::send_blocks(std::uint64_t now) {
  while (next_ <= source_.last_sealed() && next_ <= source_.last_stored() + window_) {
    if (const auto wait = pace_.wait(share_, now); wait.count() > 0) return now + nanoseconds(wait);
    if (!send_block(now)) return now + hold_retry_time;
  }
  return never; // an acknowledgement or a sealed block wakes us
}

bool forwarder::send_block(std::uint64_t now) {
  const auto block = source_.hold(next_);
  if (!block) return false;
  if (!link_->send(make_line_header(line_message::block, lane_.session, next_), *block))
    return false;
  pace_.sent(share_, block->bytes.size(), now);
  counters_.blocks.add();
  counters_.bytes.add(block->bytes.size());
  if (next_ <= highest_sent_) counters_.resent.add();
  if (next_ == source_.last_stored() + 1) progress_at_ = now;
  highest_sent_ = std::max(highest_sent_, next_);
  last_sent_at_ = now;
  ++next_;
  return true;
}

bool forwarder::send(line_message type, std::uint64_t sequence, std::string_view body,
                     std::uint64_t now) {
  last_sent_at_ = now;
  return link_->send(make_line_header(type, lane_.session, sequence), body);
}

void forwarder::wait_until(std::uint64_t due, std::uint64_t now) {
  const std::chrono::nanoseconds wait(due > now ? std::min(due - now, longest_wait) : 0);
  if (link_->wait(source_.wake_descriptor(), std::chrono::ceil<std::chrono::milliseconds>(wait)))
    source_.clear_wake();
}

void forwarder::report_once(std::string text) {
  if (text == last_report_) return;
  last_report_ = std::move(text);
  if (report_) report_(last_report_);
}

} // namespace l3
