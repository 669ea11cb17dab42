// SPDX-License-Identifier: Apache-2.0
#include "transport/output/delivery.hpp"

#include <chrono>
#include <utility>

namespace l3 {
namespace {

constexpr std::uint64_t retry_time = // after a refusal
    std::chrono::nanoseconds(std::chrono::seconds(1)).count();
constexpr std::size_t longest_text = 400; ///< of a receiver that is worth reading

/// A line of a log, whoever wrote it.
std::string fit_for_log(std::string_view text) {
  std::string line(text.substr(0, longest_text));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return line;
}

} // namespace

delivery::delivery(block_source& from, std::string receiver, report_function report)
    : source_(from), receiver_(std::move(receiver)), report_(std::move(report)) {
  begin_lane();
}

void delivery::begin_lane() {
  lane_ = source_.identity();
  highest_sent_ = source_.last_stored();
  next_ = highest_sent_ + 1;
  welcomes_ = 0;
  not_before_ = 0;
}

void delivery::connection_changed(bool broke) {
  if (welcomed_.exchange(false) && broke) report_once("the connection to " + receiver_ + " broke");
  not_before_ = 0;
}

void delivery::take(const line_header& header, std::string_view body, std::uint64_t now) {
  if (lane_.session == 0 || header.session != lane_.session) return;
  answered_at_ = now;
  switch (header.type) {
  case line_message::welcome: return welcomed(header, now);
  case line_message::acknowledgement: return acknowledged(header, now);
  case line_message::refusal: return refused(body, now);
  default: return; // nothing that a receiver sends
  }
}

void delivery::welcomed(const line_header& header, std::uint64_t now) {
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
    report_once("connected to " + receiver_ + " again");
  }
  welcomed_ = true;
  not_before_ = 0;
  window_ = std::max(header.credit, 1U);
  acknowledged(header, now);
  next_ = source_.last_stored() + 1;
  progress_at_ = now;
}

void delivery::acknowledged(const line_header& header, std::uint64_t now) {
  const std::uint64_t before = source_.last_stored();
  const std::uint64_t sealed = source_.last_sealed();
  const std::uint64_t stored =
      source_.is_remainder() ? std::min(header.sequence, sealed) : header.sequence;
  if (stored <= before || stored > sealed) return;
  counters_.acknowledged.add(stored - before);
  refused_ = false;
  source_.stored_up_to(stored, now);
  next_ = std::max(next_, stored + 1);
  window_ = std::max(header.credit, 1U);
  progress_at_ = now;
}

void delivery::refused(std::string_view text, std::uint64_t now) {
  if (text.empty()) { // it does not know us: it was started anew
    if (welcomed_.exchange(false)) not_before_ = 0;
    return;
  }
  counters_.refusals.add();
  refused_ = true;
  report_once("the receiver refuses: " + fit_for_log(text));
  // Try again with a single block, until one is taken.
  next_ = source_.last_stored() + 1;
  window_ = 1;
  not_before_ = now + retry_time;
  progress_at_ = not_before_;
}

void delivery::sent_next(std::uint64_t bytes, std::uint64_t now) {
  counters_.blocks.add();
  counters_.bytes.add(bytes);
  if (next_ <= highest_sent_) counters_.resent.add();
  if (next_ == source_.last_stored() + 1) progress_at_ = now;
  highest_sent_ = std::max(highest_sent_, next_);
  ++next_;
}

void delivery::go_back_after(std::uint64_t patience, std::uint64_t now) {
  if (!has_blocks_under_way() || now < progress_at_ + patience) return;
  const std::uint64_t first = source_.last_stored() + 1;
  // A block that ZeroMQ still holds has not left: the connection stalls, and a second copy would
  // only stand behind it.
  if (!source_.is_held(first)) next_ = first;
  progress_at_ = now;
}

void delivery::report_once(std::string text) {
  if (text == last_report_) return;
  last_report_ = std::move(text);
  if (report_) report_(last_report_);
}

} // namespace l3
