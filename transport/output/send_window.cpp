// SPDX-License-Identifier: Apache-2.0
#include "transport/output/send_window.hpp"

#include <algorithm>
#include <utility>

namespace l3 {
namespace {

constexpr std::chrono::seconds retry_time(1); ///< after a refusal
constexpr std::size_t longest_text = 400;     ///< of a receiver that is worth reading

/// A receiver's text as one line of a log: cut, and without control characters.
std::string fit_for_log(std::string_view text) {
  std::string line(text.substr(0, longest_text));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return line;
}

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

void send_window::connection_changed(bool broke) {
  if (welcomed_.exchange(false) && broke) report_once("the connection to " + receiver_ + " broke");
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
  if (header.sequence > lane.sealed && !lane.is_remainder) {
    report_once("the receiver claims blocks that were never made");
    not_before_ = now + retry_time;
    return;
  }
  if (header.sequence < lane.stored) {
    report_once(
        "the receiver no longer has blocks that were acknowledged: it stores elsewhere now");
  }
  if (welcomes_++ > 0) {
    counters_.reconnects.add();
    report_once("connected to " + receiver_ + " again");
  }
  welcomed_ = true;
  not_before_ = {};
  credit_ = std::max(header.credit, 1U);
  acknowledged(header, now);
  under_way_.clear();
  progress_at_ = now;
}

void send_window::acknowledged(const link_header& header, time_point now) {
  const lane_state lane = source_.lane();
  const std::uint64_t stored =
      lane.is_remainder ? std::min(header.sequence, lane.sealed) : header.sequence;
  if (stored <= lane.stored || stored > lane.sealed) return;
  const std::uint64_t news = stored - lane.stored;
  counters_.acknowledged.add(news);
  refused_ = false;
  source_.stored_up_to(stored, now);
  under_way_.erase(under_way_.begin(),
                   under_way_.begin() + static_cast<std::ptrdiff_t>(
                                            std::min<std::uint64_t>(news, under_way_.size())));
  credit_ = std::max(header.credit, 1U);
  progress_at_ = now;
}

void send_window::refused(std::string_view text, time_point now) {
  if (text.empty()) { // the receiver was started anew, and does not know the lane
    if (welcomed_.exchange(false)) not_before_ = {};
    return;
  }
  counters_.refusals.add();
  refused_ = true;
  report_once("the receiver refuses: " + fit_for_log(text));
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

void send_window::report_once(std::string text) {
  if (text == last_report_) return;
  last_report_ = std::move(text);
  if (report_) report_(last_report_);
}

} // namespace l3
