// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/send_window.hpp"

#include <algorithm>
#include <utility>

#include "transport/accounting/ledger.hpp"
#include "transport/format/plain_text.hpp"
#include "transport/link/link_message.hpp"

namespace l3 {
namespace {

constexpr std::chrono::seconds pause_after_refusal(1);
/// A block that was sent this often without being taken is reported: after 14 s with the default of
/// forward.acknowledge_time_limit.
constexpr unsigned times_not_taken = 3;
constexpr std::uint64_t most_credit = 1024; ///< larger values are not used
/// With several connections, one without answers for this multiple of its usual time is suspect.
constexpr int usual_times = 4;
constexpr std::chrono::milliseconds shortest_patience(250);
constexpr std::chrono::milliseconds longest_patience(1000);
/// Blocks that wait in ZeroMQ for one of several connections; further blocks use the others.
constexpr std::size_t most_not_left = 2;

} // namespace

send_window::send_window(block_source& from, std::string receiver, report_function report,
                         std::size_t ways)
    : source_(from), receiver_(std::move(receiver)), report_(std::move(report)), ways_(ways) {
  begin_lane();
}

void send_window::begin_lane() {
  highest_sent_ = source_.lane().stored;
  forget_under_way();
  welcomes_ = 0;
  copies_ = 0;
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
  answered_at_ = read_at_ = now;
  switch (header.type) {
  case link_message::welcome: return welcomed(header, now);
  case link_message::acknowledgement: acknowledged(header, now); return take_early(body, now);
  case link_message::refusal: return refused(body, now);
  default: return; // a receiver never sends it
  }
}

void send_window::welcomed(const link_header& header, time_point now) {
  const lane_state lane = source_.lane();
  if (is_impossible(header.sequence, now)) {
    not_before_ = now + pause_after_refusal;
    return;
  }
  if (header.sequence < lane.stored) {
    report_once(
        "the receiver no longer has blocks that it acknowledged: it may use another store now",
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
  forget_under_way();
  progress_at_ = now;
  copies_ = 0;
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
  const auto gone = std::min<std::uint64_t>(news, under_way_.size());
  for (std::uint64_t i = 0; i < gone; ++i) {
    came(under_way_.front(), now);
    under_way_.pop_front();
  }
  take_credit(header.credit);
  progress_at_ = now;
  copies_ = 0;
}

/// A receiver that claims blocks which were never sent confuses this session with another one, or
/// lies. Believing it would drop blocks that nobody has.
bool send_window::is_impossible(std::uint64_t stored, time_point now) {
  const std::uint64_t sent = std::max(highest_sent_, source_.lane().possibly_sent);
  wrong_ = stored > sent;
  if (!wrong_) return false;
  counters_.impossible.add();
  report_once("the receiver claims to have blocks up to " + std::to_string(stored) +
                  ", but no block after " + std::to_string(sent) +
                  " was ever sent: all blocks are kept",
              now);
  return true;
}

void send_window::take_credit(std::uint32_t blocks) {
  credit_ = std::clamp<std::uint64_t>(blocks, 1, most_credit);
}

void send_window::refused(std::string_view text, time_point now) {
  if (text.empty()) { // the receiver was restarted and does not know the lane
    if (!welcomed_.exchange(false)) return;
    // Otherwise a receiver that alternately welcomes and forgets would cause endless hellos.
    not_before_ =
        now < hello_wanted_at_ + pause_after_refusal ? now + pause_after_refusal : time_point();
    hello_wanted_at_ = now;
    return;
  }
  counters_.refusals.add();
  refused_ = true;
  report_once("the receiver refuses: " + peer_text(text), now);
  // Retry with a single block until one is taken.
  forget_under_way();
  credit_ = 1;
  progress_at_ = not_before_ = now + pause_after_refusal;
}

void send_window::sent(const held_block& block, time_point now, std::size_t way) {
  const std::uint64_t sequence = next();
  counters_.blocks.add();
  counters_.bytes.add(block.bytes.size());
  if (sequence <= highest_sent_) counters_.resent.add();
  if (under_way_.empty()) progress_at_ = copied_at_ = now;
  highest_sent_ = std::max(highest_sent_, sequence);
  last_way_ = way;
  const sent_block as_it_is{block.hold, way, now};
  if (again_ == 0) {
    under_way_.push_back(as_it_is);
    return;
  }
  --again_;
  *std::ranges::find(under_way_, true, &sent_block::again) = as_it_is;
}

std::uint64_t send_window::next() const {
  if (again_ == 0) return behind();
  const auto first = std::ranges::find(under_way_, true, &sent_block::again);
  return source_.lane().stored + 1 + static_cast<std::uint64_t>(first - under_way_.begin());
}

void send_window::forget_under_way() {
  under_way_.clear();
  again_ = 0;
}

void send_window::came(sent_block& block, time_point now) {
  if (std::exchange(block.came, true)) return;
  if (std::exchange(block.again, false)) {
    --again_; // it arrived after all
    return;
  }
  way_state& over = ways_[block.way];
  over.brought_at = now;
  over.usual = (3 * over.usual + (now - block.at)) / 4;
}

/// An early block is not stored yet, so it is kept here until it is.
void send_window::take_early(std::string_view body, time_point now) {
  const auto answer = read_answer(std::as_bytes(std::span(body)));
  if (!answer || answer->early == 0) return;
  const std::uint64_t first = source_.lane().stored + 1;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t sequence = answer->missing + 1 + bit;
    if ((answer->early >> bit & 1) == 0 || sequence < first) continue;
    if (sequence - first >= under_way_.size()) return;
    came(under_way_[sequence - first], now);
  }
}

void send_window::joined(const link_header& header, std::string_view body, time_point now) {
  if (header.session != source_.lane().identity.session) return;
  answered_at_ = read_at_ = now;
  acknowledged(header, now);
  take_early(body, now);
}

void send_window::lost(std::size_t way) {
  for (sent_block& b : under_way_) {
    if (b.way != way || b.came || b.again) continue;
    b.again = true;
    ++again_;
  }
}

void send_window::leave_silent_ways(time_point now) {
  if (ways_.size() == 1) return;
  for (std::size_t w = 0; w < ways_.size(); ++w) {
    const auto oldest = std::ranges::find_if(
        under_way_, [&](const sent_block& b) { return b.way == w && !b.came && !b.again; });
    if (oldest == under_way_.end()) continue;
    const auto patience = std::clamp<std::chrono::nanoseconds>(usual_times * ways_[w].usual,
                                                               shortest_patience, longest_patience);
    const bool others_bring = std::ranges::any_of(ways_, [&](const way_state& other) {
      return &other != &ways_[w] && other.brought_at > oldest->at;
    });
    if (!others_bring || now < std::max(ways_[w].brought_at, oldest->at) + patience) continue;
    ways_[w].is_suspect = true;
    lost(w);
  }
}

std::optional<std::size_t> send_window::choose_way(std::span<const bool> welcome) const {
  std::optional<std::size_t> best;
  std::pair<std::size_t, std::size_t> least;
  for (std::size_t n = 1; n <= ways_.size(); ++n) { // in turn among equals
    const std::size_t w = (last_way_ + n) % ways_.size();
    if (!welcome[w] || ways_[w].is_suspect) continue;
    std::pair<std::size_t, std::size_t> has; // not sent, not arrived
    for (const sent_block& b : under_way_) {
      if (b.way != w || b.came || b.again) continue;
      ++has.second;
      if (!b.hold.expired()) ++has.first;
    }
    if (ways_.size() > 1 && has.first >= most_not_left) continue;
    if (best && has >= least) continue;
    best = w;
    least = has;
  }
  return best;
}

void send_window::go_back_after(std::chrono::nanoseconds patience, time_point now) {
  if (under_way_.empty() || now < go_back_at(patience)) return;
  progress_at_ = now;
  const bool was_read = copies_ == 0 || read_at_ > copied_at_;
  if (!under_way_.front().hold.expired() || !was_read) return;
  forget_under_way();
  ++copies_;
  if (copies_ != times_not_taken) return;
  refused_ = true;
  const lane_state lane = source_.lane();
  report_once("the receiver answers but does not accept block " + std::to_string(lane.stored + 1) +
                  " of session " + session_text(lane.identity.session) + ", which was sent " +
                  std::to_string(times_not_taken) + " times: check the receiver's log",
              now);
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
