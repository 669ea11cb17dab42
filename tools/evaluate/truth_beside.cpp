// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/truth_beside.hpp"

#include <utility>

#include <fmt/format.h>

#include "tools/command.hpp"

namespace l3 {

truth_beside::truth_beside(std::string truth, std::string data, const detector& d)
    : name_(std::move(truth)), data_(std::move(data)),
      reader_(opened([&] { return truth_reader(name_, d); })) {}

const true_event& truth_beside::of(const event_entry& next) {
  if (!reader_.next(event_, key_) || key_.spill != next.spill || key_.number != next.number)
    throw command_error(
        fmt::format("{} is not the truth of {}: spill {} event {} is not where it must be", name_,
                    data_, next.spill, next.number));
  return event_;
}

void truth_beside::finish() {
  if (reader_.next(event_, key_)) throw command_error(name_ + " goes on behind " + data_);
}

} // namespace l3
