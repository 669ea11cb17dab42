// SPDX-License-Identifier: Apache-2.0
#include "transport/output/send_window.hpp"

#include <algorithm>
#include <utility>

#include "transport/format/peer_text.hpp"

namespace l3 {
namespace {

constexpr std::chrono::seconds retry_time(1); ///< after a refusal
constexpr std::uint64_t most_credit = 1024;   ///< that is believed

} // namespace

send_window::send_window(block_source& from, std::string receiver, report_function report)
    : source_(from), receiver_(std::move(receiver)), report_(std::move(report)) {
  begin_lane();
}

void send_window::begin_lane() {
  highest_sent_ = source_.lane().stored;
  under_way_.clear();
  welcomes_ = 0;
  not_before_ = {};
}

void send_window::connection_changed(bool broke, time_point now) {
  if (welcomed_.exchange(false) && broke)
    report_once("the connection to " + receiver_ + " broke", now);
  not_before_ = {};
}

void send_window::take(const link_header& header, std::string_view body, time_point now) {
  const std::uint64_t session = source_.lane().identity.session;
  if (session == 0 || header.session != session) return;
  answered_at_ = now;
  switch (header.type) {
  case link_message::welcome: return welcomed(header, now);
  case link_message::acknowledgement: return acknowledged(header, now);
  case link_message::refusal: return refused(body, now);
  default: return; // nothing that a receiver sends
  }
}

void send_window::welcomed(const link_header& header, time_point now) {
  const lane_state lane = source_.lane();
  if (is_impossible(header.sequence, now)) {
    not_before_ = now + retry_time;
    return;
  }
  if (header.sequence < lane.stored) {
    report_once("the receiver no longer has blocks that were acknowledged: it stores elsewhere now",
                now);
  }
  if (welcomes_++ > 0) {
    counters_.reconnects.add();
    report_once("connected to " + receiver_ + " again", now);
  }
  welcomed_ = true;
  not_before_ = {};
  take_credit(header.credit);
  acknowledged(header, now);
  under_way_.clear();
  progress_at_ = now;
}

void send_window::acknowledged(const link_header& header, time_point now) {
  const lane_state lane = source_.lane();
  if (is_impossible(header.sequence, now)) return;
  const std::uint64_t stored = std::min(header.sequence, lane.sealed);
  if (stored <= lane.stored) return;
  const std::uint64_t news = stored - lane.stored;
  counters_.acknowledged.add(news);
  refused_ = false;
  source_.stored_up_to(stored, now);
  under_way_.erase(under_way_.begin(),
                   under_way_.begin() + static_cast<std::ptrdiff_t>(
                                            std::min<std::uint64_t>(news, under_way_.size())));
  take_credit(header.credit);
  progress_at_ = now;
}

/// A receiver that claims blocks which it was never sent mistakes this session for another one, or
/// lies: to believe it would let blocks go that nobody has.
bool send_window::is_impossible(std::uint64_t stored, time_point now) {
  const std::uint64_t sent = std::max(highest_sent_, source_.lane().possibly_sent);
  wrong_ = stored > sent;
  if (!wrong_) return false;
  counters_.impossible.add();
  report_once("the receiver claims to have blocks up to " + std::to_string(stored) +
                  ", of which none behind " + std::to_string(sent) +
                  " was ever sent: no block is let go",
              now);
  return true;
}

void send_window::take_credit(std::uint32_t blocks) {
  credit_ = std::clamp<std::uint64_t>(blocks, 1, most_credit);
}

void send_window::refused(std::string_view text, time_point now) {
  if (text.empty()) { // the receiver was started anew, and does not know the lane
    if (!welcomed_.exchange(false)) return;
    // One that welcomes and forgets by turns would else keep the link busy with hellos.
    not_before_ = now < hello_wanted_at_ + retry_time ? now + retry_time : time_point();
    hello_wanted_at_ = now;
    return;
  }
  counters_.refusals.add();
  refused_ = true;
  report_once("the receiver refuses: " + peer_text(text), now);
  // Try again with a single block, until one is taken.
  under_way_.clear();
  credit_ = 1;
  progress_at_ = not_before_ = now + retry_time;
}

void send_window::sent(const held_block& block, time_point now) {
  const std::uint64_t sequence = next();
  counters_.blocks.add();
  counters_.bytes.add(block.bytes.size());
  if (sequence <= highest_sent_) counters_.resent.add();
  if (under_way_.empty()) progress_at_ = now;
  highest_sent_ = std::max(highest_sent_, sequence);
  under_way_.push_back(block.hold);
}

void send_window::go_back_after(std::chrono::nanoseconds patience, time_point now) {
  if (under_way_.empty() || now < progress_at_ + patience) return;
  if (under_way_.front().expired()) under_way_.clear();
  progress_at_ = now;
}

void send_window::report_once(std::string text, time_point now) {
  if (text == last_report_) return;
  last_report_ = std::move(text);
  const auto left_out = lines_.take(now);
  if (!left_out || !report_) return;
  report_(*left_out == 0
              ? last_report_
              : last_report_ + " (" + std::to_string(*left_out) + " lines before it left out)");
}

} // namespace l3
