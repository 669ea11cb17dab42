// SPDX-License-Identifier: Apache-2.0
#include "transport/output/link_grant.hpp"

#include <algorithm>

#include "transport/link/link_message.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

/// Between two demands, while there is something to send and while there is not. A grant holds for
/// several of these.
constexpr auto busy_interval = 50ms;
constexpr auto idle_interval = 100ms;
/// Between any two demands: a receiver may answer each with another grant, which draws the next.
constexpr auto shortest_interval = 1ms;
constexpr std::chrono::milliseconds longest_lease = 10s; ///< that is believed
constexpr std::uint32_t most_newer = 1U << 31;           ///< numbers of grants go round
constexpr auto ask_again = 100ms; ///< without a grant; a message wakes the forwarder earlier

} // namespace

void link_grant::forget() {
  divided_ = false;
  rate_ = 0;
  grant_ = told_ = 0;
  valid_until_ = {};
  answered_ = last_demand_;
  show(-1);
}

void link_grant::welcomed(std::span<const std::byte> body, time_point now) {
  forget();
  const auto got = read_sealed<link_answer_body>(body);
  if (!got || (got->flags & answer_divides) == 0) return;
  divided_ = true;
  demanded_at_ = {};
  valid_until_ = now;
  show(0);
}

void link_grant::take(std::span<const std::byte> body, time_point now) {
  const auto got = read_sealed<link_answer_body>(body);
  if (!divided_ || !got || got->grant == 0) return;
  // One that was overtaken by another, or answers what was not sent over this connection.
  const std::uint32_t age = last_demand_ - got->demand;
  if (age >= sent_at_.size() || got->demand - answered_ > last_demand_ - answered_) return;
  const bool is_older = grant_ != 0 && got->grant - grant_ > most_newer;
  if (is_older && got->demand == answered_) return;
  answered_ = got->demand;
  if (got->grant != grant_ || got->rate != rate_) {
    if (got->rate > 0) pacer_.set_rate({static_cast<double>(got->rate)}, now);
    grant_ = got->grant;
    rate_ = got->rate;
  }
  valid_until_ = sent_at_[got->demand % sent_at_.size()] +
                 std::min(std::chrono::milliseconds(got->lease), longest_lease);
  show(static_cast<double>(rate_));
}

std::chrono::nanoseconds link_grant::wait(time_point now) const {
  if (!divided_) return 0ns;
  if (rate_ == 0 || now >= valid_until_) return ask_again;
  return pacer_.wait(now);
}

void link_grant::sent(std::uint64_t bytes, time_point now) {
  if (divided_) pacer_.sent(bytes, now);
}

time_point link_grant::demand_at(std::uint64_t waiting) const {
  if (!divided_) return never;
  const bool is_news = told_ != grant_ || (waiting > 0 && told_waiting_ == 0);
  if (is_news) return demanded_at_ + shortest_interval;
  return demanded_at_ + (waiting > 0 ? busy_interval : idle_interval);
}

link_demand_body link_grant::demand(std::uint64_t waiting, bit_rate most, time_point now) {
  ++last_demand_;
  sent_at_[last_demand_ % sent_at_.size()] = demanded_at_ = now;
  told_ = grant_;
  told_waiting_ = waiting;
  if (now >= valid_until_) show(0);
  return sealed(link_demand_body{waiting, static_cast<std::uint64_t>(most.bits_per_second),
                                 last_demand_, grant_, weight_, 0});
}

std::chrono::nanoseconds link_grant::missing_for(time_point now) const {
  if (!divided_ || (rate_ != 0 && now < valid_until_)) return 0ns;
  return now - valid_until_;
}

} // namespace l3
