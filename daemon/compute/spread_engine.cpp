// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/spread_engine.hpp"

#include <algorithm>
#include <cstdlib>

namespace l3 {
namespace {

void add(engine_counters& to, const engine_counters& more) {
  for (std::size_t f = 0; f < enumerators<engine_failure>; ++f) {
    const auto kind = static_cast<engine_failure>(f);
    to.failures.add(kind, more.failures[kind]);
  }
  to.frames_bypassed.add(more.frames_bypassed);
  to.restarts.add(more.restarts);
  to.events_verified.add(more.events_verified);
  to.events_wrong.add(more.events_wrong);
}

} // namespace

spread_engine::spread_engine(std::vector<std::unique_ptr<supervised_engine>> devices)
    : devices_(std::move(devices)) {
  for (const auto& d : devices_) {
    name_ += (name_.empty() ? "" : " + ") + std::string(d->name());
    frames_.insert(frames_.end(), d->frames().begin(), d->frames().end());
    for (const int p : d->processors()) processors_.push_back(p);
    for (const memory_use& use : d->memory_plan()) {
      const auto same = std::ranges::find(memory_plan_, use.what, &memory_use::what);
      if (same == memory_plan_.end()) {
        memory_plan_.push_back(use);
      } else {
        same->bytes += use.bytes;
      }
    }
  }
  std::ranges::sort(frames_, {}, &frame::index);
  for (std::size_t n = 0; n < frames_.size(); ++n)
    if (frames_[n]->index != n) std::abort(); // the engines were made with other frame numbers
}

engine_counters spread_engine::counters() const {
  engine_counters all = devices_.front()->counters();
  for (std::size_t d = 1; d < devices_.size(); ++d) add(all, devices_[d]->counters());
  return all;
}

bool spread_engine::lost() const {
  return std::ranges::any_of(devices_, [](const auto& d) { return d->lost(); });
}

bool spread_engine::bypassed() const {
  return std::ranges::any_of(devices_, [](const auto& d) { return d->bypassed(); });
}

bool spread_engine::wrong_results() const {
  return std::ranges::any_of(devices_, [](const auto& d) { return d->wrong_results(); });
}

bool spread_engine::hangs() const {
  return std::ranges::any_of(devices_, [](const auto& d) { return d->hangs(); });
}

} // namespace l3
