// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/truth_beside.hpp"

#include <utility>

#include <fmt/format.h>

#include "tools/command.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

truth_beside::truth_beside(std::string truth, std::string data, const detector& d, bool may_lack)
    : name_(std::move(truth)), data_(std::move(data)), may_lack_(may_lack),
      reader_(opened([&] { return truth_reader(name_, d); })) {}

const true_event& truth_beside::of(const decided_event& next) {
  const event_entry& entry = next.event;
  const auto is_it = [&] { return key_ == event_key{entry.spill, entry.number}; };
  bool found = reader_.next(event_, key_);
  while (found && may_lack_ && !is_it()) found = reader_.next(event_, key_);
  if (!found || !is_it())
    throw command_error(
        fmt::format("{} is not the truth of {}: spill {} event {} is not where it must be", name_,
                    data_, entry.spill, entry.number));
  const bool knows_trigger = (next.summary.unknown & trigger_unknown) == 0;
  if (event_.since_spill != next.since_spill ||
      (knows_trigger && next.summary.trigger != (event_.trigger_bits & l2::payload_mask)))
    throw command_error(
        fmt::format("{} is not the truth of {}: spill {} event {} has another time in the spill or "
                    "other trigger bits there",
                    name_, data_, entry.spill, entry.number));
  return event_;
}

void truth_beside::finish() {
  if (!may_lack_ && reader_.next(event_, key_))
    throw command_error(name_ + " goes on behind " + data_);
}

} // namespace l3
