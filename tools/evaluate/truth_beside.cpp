// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/truth_beside.hpp"

#include <utility>

#include <fmt/format.h>

#include "tools/command.hpp"

namespace l3 {

truth_beside::truth_beside(std::string truth, std::string data, const detector& d, bool may_lack)
    : name_(std::move(truth)), data_(std::move(data)), may_lack_(may_lack),
      reader_(opened([&] { return truth_reader(name_, d); })) {}

const true_event& truth_beside::of(const event_entry& next) {
  const auto is_it = [&] { return key_.spill == next.spill && key_.number == next.number; };
  bool found = reader_.next(event_, key_);
  while (found && may_lack_ && !is_it()) found = reader_.next(event_, key_);
  if (!found || !is_it())
    throw command_error(
        fmt::format("{} is not the truth of {}: spill {} event {} is not where it must be", name_,
                    data_, next.spill, next.number));
  return event_;
}

void truth_beside::finish() {
  if (!may_lack_ && reader_.next(event_, key_))
    throw command_error(name_ + " goes on behind " + data_);
}

} // namespace l3
