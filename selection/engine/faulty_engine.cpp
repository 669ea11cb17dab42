// SPDX-License-Identifier: Apache-2.0
#include "selection/engine/faulty_engine.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "selection/detector/random.hpp"
#include "selection/packing/layout.hpp"

namespace l3 {
namespace {

bool gives_errors(fault_kind k) {
  return k == fault_kind::error || k == fault_kind::no_restart || k == fault_kind::dead ||
         k == fault_kind::lost;
}

bool hangs(fault_kind k) { return k == fault_kind::hang || k == fault_kind::stall; }

} // namespace

faulty_engine::faulty_engine(std::unique_ptr<engine> inner, const fault_plan& plan)
    : inner_(std::move(inner)), plan_(plan), fates_(inner_->frames().back()->index + 1) {
  name_ = inner_->name();
  frames_.assign(inner_->frames().begin(), inner_->frames().end());
  memory_plan_.assign(inner_->memory_plan().begin(), inner_->memory_plan().end());
}

bool faulty_engine::hits(std::uint64_t number) const {
  if (plan_.every != 0) return number % plan_.every == 0;
  if (plan_.at != 0) return number == plan_.at;
  return number >= plan_.from && !cured_;
}

void faulty_engine::start(frame& f) {
  fate& mine = fates_[f.index];
  mine.number = ++started_;
  mine.hit = hits(mine.number);
  mine.computed = !(mine.hit && hangs(plan_.kind));
  if (mine.computed) return inner_->start(f);
  mine.busy_until =
      plan_.lasts.count() == 0 ? clock::time_point::max() : clock::now() + plan_.lasts;
}

frame_outcome faulty_engine::wait_for(frame& f, std::chrono::nanoseconds limit) {
  fate& mine = fates_[f.index];
  if (!mine.computed) {
    const auto now = clock::now();
    const auto until = mine.busy_until.load();
    if (until > now) {
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(limit, until - now));
      return frame_outcome::not_yet;
    }
    inner_->start(f);
    mine.computed = true;
  }
  if (mine.lacks_queue) {
    f.error = "started without a queue, after a restart that failed (imagined)";
    return frame_outcome::failed;
  }
  if (mine.hit && gives_errors(plan_.kind)) {
    no_restart_ = plan_.kind == fault_kind::no_restart;
    if (plan_.kind == fault_kind::lost) lost_ = true;
    f.error = "an error made on purpose (imagined)";
    return frame_outcome::failed;
  }
  const frame_outcome outcome = inner_->wait_for(f, limit);
  if (outcome == frame_outcome::done && (mine.hit || owed_)) {
    if (plan_.kind == fault_kind::wrong_bit) owed_ = !flip_a_bit(f, mine.number);
    if (plan_.kind == fault_kind::wrong_decision) owed_ = !reject_an_event(f);
  }
  return outcome;
}

bool faulty_engine::reject_an_event(frame& f) {
  const auto kept = std::ranges::find(f.results, 1, &event_result::kept);
  if (kept == f.results.end()) return false;
  const_cast<event_result&>(*kept).kept = 0;
  return true;
}

/// Flips a bit in the data of the middle packed event. It never flips the highest bit of
/// a byte, because only those bits may have no meaning. Returns false if no event has
/// data.
bool faulty_engine::flip_a_bit(frame& f, std::uint64_t number) {
  std::vector<std::size_t> candidates;
  for (std::size_t e = 0; e < f.results.size(); ++e) {
    if (f.results[e].kept != 0 && f.results[e].bytes != 0) candidates.push_back(e);
  }
  if (candidates.empty()) return false;
  const std::size_t event = candidates[candidates.size() / 2];
  const event_result& r = f.results[event];
  const event_entry& entry = f.input.events[event];
  std::byte* const packed = f.output_memory.data() + r.offset;
  const auto head = load<packed_event>(packed);
  const std::size_t first = data_offset(entry.fragments, entry.boards, head.summary_bytes);
  const std::size_t last = r.bytes - packed_alignment; // later bytes may be padding
  if (first >= last) return false;
  const std::uint64_t chance = splitmix(number);
  packed[first + chance % (last - first)] ^= std::byte{1} << (chance >> 32) % 7;
  return true;
}

bool faulty_engine::at_rest(const frame& f) const {
  return inner_->at_rest(f) && fates_[f.index].busy_until.load() <= clock::now();
}

bool faulty_engine::reads_input(const frame& f) const {
  return plan_.kind == fault_kind::stall && !at_rest(f);
}

bool faulty_engine::restart(frame& f) {
  if (lost_ || (plan_.kind == fault_kind::dead && started_ >= plan_.from)) {
    f.error = "no device any more (imagined)";
    return false;
  }
  fate& mine = fates_[f.index];
  mine.lacks_queue = std::exchange(no_restart_, false);
  if (mine.lacks_queue) {
    f.error = "no queue can be made (imagined)";
    return false;
  }
  cured_ = true;
  return inner_->restart(f);
}

} // namespace l3
